import { type BigIntStats, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { type FileEntry, LIMITS } from '../../schema/item.ts';
import type { Root } from './containment.ts';
import { look } from './file.ts';

/** Something in a folder that can be no file of an item. It is left alone. */
export interface Odd {
  /** Slashes, relative to the folder; empty for the folder itself. */
  path: string;
  what: 'folder' | 'link' | 'special' | 'unreadable' | 'too_large' | 'too_many' | 'too_deep';
}

/** What stands under a name of a root. */
export type FolderScan =
  | { is: 'absent' | 'link' | 'file' | 'special' | 'unreadable' }
  | { is: 'folder'; files: FileEntry[]; odd: Odd[] };

/**
 * Digests by full path, with what shows that a file is still the one that was read: size, inode, and both times in
 * nanoseconds. It may be kept as JSON between runs.
 */
export type ScanCache = Map<string, { stamp: string; digest: string }>;

export interface ScanOptions {
  cache?: ScanCache;
  /** Read every byte again, whatever the cache says. */
  full?: boolean;
}

interface Reading extends ScanOptions {
  root: Root;
}

/** Far more than an item may hold: beyond it lies a checkout or a package folder. */
const MOST_FILES = 4 * LIMITS.itemFiles;
const DEEPEST = 16;
/** A file changed just before it was read can change again without a new time stamp, so that it is not cached yet. */
const SETTLED_NS = 2_000_000_000n;

/** Names below a root. Throws when it cannot be listed, which says nothing about what is in it. */
export function listRoot(root: Root): string[] {
  return readdirSync(root.real).sort();
}

/** Reads what stands under a name of the root, without following any link. Nothing is written. */
export function scanFolder(root: Root, name: string, options: ScanOptions = {}): FolderScan {
  const path = join(root.real, name);
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return { is: 'unreadable' };
  }
  if (!stat) return { is: 'absent' };
  if (stat.isSymbolicLink()) return { is: 'link' };
  if (stat.isFile()) return { is: 'file' };
  if (!stat.isDirectory()) return { is: 'special' };
  const found: { files: FileEntry[]; odd: Odd[] } = { files: [], odd: [] };
  if (!walk(path, '', 1, { ...options, root }, found)) return { is: 'unreadable' };
  return { is: 'folder', ...found };
}

/** Reads one file of the root; null when nothing is there, an {@link Odd} when it is no plain file. */
export function scanFile(root: Root, path: string, options: ScanOptions = {}): FileEntry | Odd | null {
  return readEntry(join(root.real, path), path, { ...options, root });
}

function walk(
  folder: string,
  prefix: string,
  depth: number,
  options: Reading,
  found: { files: FileEntry[]; odd: Odd[] },
): boolean {
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    return false;
  }
  for (const name of names) {
    if (found.files.length + found.odd.length >= MOST_FILES) {
      found.odd.push({ path: '', what: 'too_many' });
      return true;
    }
    const path = prefix + name;
    const full = join(folder, name);
    const entry = readEntry(full, path, options);
    if (entry === null) continue;
    if (!('what' in entry)) found.files.push(entry);
    else if (entry.what !== 'folder') found.odd.push(entry);
    else if (depth >= DEEPEST) found.odd.push({ path, what: 'too_deep' });
    else if (!walk(full, `${path}/`, depth + 1, options, found)) found.odd.push({ path, what: 'unreadable' });
  }
  return true;
}

function readEntry(full: string, path: string, reading: Reading): FileEntry | Odd | null {
  let stat: BigIntStats | undefined;
  try {
    stat = lstatSync(full, { bigint: true, throwIfNoEntry: false });
  } catch {
    return { path, what: 'unreadable' };
  }
  if (!stat) return null;
  if (stat.isSymbolicLink()) return { path, what: 'link' };
  if (stat.isDirectory()) return { path, what: 'folder' };
  if (!stat.isFile()) return { path, what: 'special' };
  if (stat.size > LIMITS.fileBytes) return { path, what: 'too_large' };
  try {
    const digest = digestOf(full, stat, reading);
    if (digest === null) return null;
    const executable = reading.root.platform !== 'win32' && (stat.mode & 0o100n) !== 0n;
    return { path, digest, size: Number(stat.size), executable };
  } catch {
    return { path, what: 'unreadable' };
  }
}

function digestOf(
  full: string,
  stat: BigIntStats,
  { root, cache, full: everything }: Reading,
): string | null {
  const stamp = `${stat.size}:${stat.ino}:${stat.mtimeNs}:${stat.ctimeNs}`;
  const known = cache?.get(full);
  if (known?.stamp === stamp && !everything) return known.digest;
  const read = look(full);
  if (read.is !== 'file') return null;
  if (BigInt(Math.floor(root.now())) * 1_000_000n - stat.ctimeNs > SETTLED_NS)
    cache?.set(full, { stamp, digest: read.digest });
  else cache?.delete(full);
  return read.digest;
}
