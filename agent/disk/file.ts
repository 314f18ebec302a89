import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  fsync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf } from './attempt.ts';
import type { Root } from './containment.ts';

/** What stands at a path, without following a link. */
export type Look =
  | { is: 'absent' | 'folder' | 'link' | 'special' }
  | { is: 'file'; digest: string; size: number; executable: boolean };

const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export function look(path: string): Look {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return { is: 'absent' };
  if (stat.isSymbolicLink()) return { is: 'link' };
  if (stat.isDirectory()) return { is: 'folder' };
  if (!stat.isFile()) return { is: 'special' };
  try {
    return readDigest(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { is: 'absent' };
    if (codeOf(error) === 'ELOOP') return { is: 'link' };
    throw error;
  }
}

function readDigest(path: string): Look {
  const fd = openSync(path, READ);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { is: 'special' };
    const sum = createHash('sha256');
    const chunk = Buffer.allocUnsafe(Math.min(Math.max(stat.size + 1, 4096), 256 * 1024));
    let size = 0;
    for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk)) {
      sum.update(chunk.subarray(0, read));
      size += read;
    }
    return { is: 'file', digest: sum.digest('hex'), size, executable: (stat.mode & 0o100) !== 0 };
  } finally {
    closeSync(fd);
  }
}

const sync = promisify(fsync);

/** Makes a new file, whole and synced when the promise resolves. */
export async function newFile(
  root: Root,
  path: string,
  bytes: Uint8Array | string,
  executable: boolean,
): Promise<void> {
  root.step('content');
  const fd = openSync(path, 'wx', executable ? 0o777 : 0o666);
  try {
    writeFileSync(fd, bytes);
    root.step('sync');
    await sync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Waits for every one, also when one fails, so that no file is open any more; then throws what failed first. */
export async function everyOne(work: Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}

/** Lies beside a file that is being copied in for want of hard links: what stands at the target may be half of it. */
const COPYING = 'copying';

/**
 * Moves a file or folder to where nothing stands; EEXIST when something does. Never replaces. `scratch` is a folder for the
 * mark that a copy is under way, where the file system has no hard links.
 */
export function moveExclusive(root: Root, from: string, to: string, scratch: string): void {
  if (lstatSync(from).isDirectory()) {
    if (lstatSync(to, { throwIfNoEntry: false })) throw exists(to);
    try {
      renameSync(from, to);
    } catch (error) {
      throw TAKEN.has(codeOf(error)) ? exists(to) : error;
    }
    return;
  }
  placeExclusive(root, from, to, scratch);
  unlinkSync(from);
}

/** What a rename of a folder answers when something came to stand at its goal. */
export const TAKEN: ReadonlySet<string> = new Set(['EEXIST', 'ENOTEMPTY', 'ENOTDIR']);

/** As {@link moveExclusive} for a file, but leaves it where it was, too. */
export function placeExclusive(root: Root, from: string, to: string, scratch: string): void {
  try {
    if (root.hardLinks) {
      linkSync(from, to);
      return;
    }
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error;
  }
  copyExclusive(from, to, join(scratch, COPYING));
}

/** How systems say that a file system has no hard links; Windows does so with EISDIR or UNKNOWN. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EISDIR', 'UNKNOWN']);

function copyExclusive(from: string, to: string, mark: string): void {
  writeFileSync(mark, '');
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL);
    const fd = openSync(to, 'r+');
    fsyncSync(fd);
    closeSync(fd);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') rmSync(mark);
    throw error;
  }
  rmSync(mark);
}

/**
 * Without hard links a crash can leave the first part of a file at its target. It is set aside into the scratch folder, as if
 * the copy had not begun. `wholes` are the files that may have been on their way.
 */
export function repairHalfCopy(scratch: string, target: string, wholes: readonly string[]): void {
  const mark = join(scratch, COPYING);
  if (!existsSync(mark)) return;
  if (wholes.some((whole) => isFirstPart(target, whole))) renameSync(target, join(scratch, 'half'));
  rmSync(mark);
}

function isFirstPart(part: string, whole: string): boolean {
  if (look(part).is !== 'file' || look(whole).is !== 'file') return false;
  const start = readFileSync(part);
  const all = readFileSync(whole);
  return start.length < all.length && all.subarray(0, start.length).equals(start);
}

function exists(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${path} exists`), { code: 'EEXIST' });
}
