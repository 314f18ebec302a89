import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { digestInput } from '../../../schema/digest.ts';
import { decodeText } from '../../../schema/frontmatter.ts';
import { inspectItem } from '../../../schema/inspect.ts';
import { type Flag, type Kind, LIMITS, MAIN_FILE } from '../../../schema/item.ts';
import { isItemName, suggestName } from '../../../schema/name.ts';
import { checkPaths } from '../../../schema/path.ts';
import { CommandFailed } from '../failure.ts';
import { counted } from '../text.ts';
import { isInside, type Source, stubReason } from './find.ts';
import { linkStub } from './stub.ts';

export interface ReadFile {
  /** As the item will have it, slashes. */
  path: string;
  bytes: Buffer<ArrayBuffer>;
  digest: string;
  executable: boolean;
}

/** An item as it is on disk, by the rules that the registry goes by as well. */
export interface ReadItem {
  source: Source;
  kind: Kind;
  name: string;
  /** What the folder or file counts as being called; another than it was where the person agreed to `rename`. */
  fallbackName: string;
  files: ReadFile[];
  /** Item digest, see `digest.ts`. */
  digest: string;
  flags: Flag[];
  /** One sentence each: what the person should know, though nothing is wrong. */
  notes: string[];
}

interface ReadOptions {
  /** Whether a name that breaks the rule may be replaced by the nearest that keeps it. */
  rename?: boolean;
  /** False where the file system has no executable bit. */
  executableBit: boolean;
}

/**
 * Reads an item's files: bytes as they are, links resolved where they stay inside `source.within`.
 * @throws CommandFailed for what is no item, RegistryError for what breaks a rule of the registry
 */
export function readItem(source: Source, options: ReadOptions): ReadItem {
  const { kind } = source;
  const main = MAIN_FILE[kind];
  const notes: string[] = [];
  const files =
    source.shape === 'file' ? [readOne(source.real, main, options)] : readFolder(source, options, notes);
  canonicalMain(files, main, notes);
  checkPaths(files.map(({ path }) => path));
  const mainText = decodeText((files.find(({ path }) => path === main) as ReadFile).bytes);
  if (mainText === null) throw new CommandFailed(`${main} is no UTF-8 text; save it as UTF-8.`);
  const fallbackName = agreedName(source, options);
  const { name, flags } = inspectItem({ kind, mainText, fallbackName, fileCount: files.length });
  if (name === fallbackName && name !== source.fallbackName) {
    notes.push(`its name ${JSON.stringify(source.fallbackName)} was taken as ${name}.`);
  }
  const hidden = files.filter(({ path }) => /(^|\/)\./.test(path)).map(({ path }) => path);
  if (hidden.length > 0) {
    const named = hidden.slice(0, 3).join(', ') + (hidden.length > 3 ? ', …' : '');
    notes.push(`carries ${counted(hidden.length, 'hidden file')} (${named}); see that they hold no secrets.`);
  }
  const digest = hash('sha256', digestInput(files), 'hex');
  return { source, kind, name, fallbackName, files, digest, flags, notes };
}

/** The name to fall back on: with the person's agreement the nearest that keeps the rule. */
function agreedName({ fallbackName }: Source, { rename }: ReadOptions): string {
  return (rename && !isItemName(fallbackName) && suggestName(fallbackName)) || fallbackName;
}

function canonicalMain(files: ReadFile[], main: string, notes: string[]): void {
  if (files.some(({ path }) => path === main)) return;
  const other = files.find(({ path }) => path.toLowerCase() === main.toLowerCase());
  if (!other) throw new CommandFailed(`its ${main} is no file; put one there.`);
  notes.push(`its ${other.path} is kept as ${main}, the only name that clients read.`);
  other.path = main;
}

function readFolder(source: Source, options: ReadOptions, notes: string[]): ReadFile[] {
  const files: ReadFile[] = [];
  let bytes = 0;
  // Folders above the one that is read, so that a link back to one of them ends.
  const visit = (folder: string, prefix: string, above: readonly string[]) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const full = join(folder, entry.name);
      const path = prefix + entry.name;
      if (entry.name.includes('\uFFFD') && !existsSync(full)) {
        throw new CommandFailed(`the name of ${path} is no UTF-8 text; rename the file.`);
      }
      if (entry.name === '.git') {
        notes.push('its .git was left out.');
        continue;
      }
      const real = entry.isSymbolicLink() ? followLink(full, path, source) : full;
      const stat = statSync(real);
      if (stat.isDirectory()) {
        if (above.includes(real)) throw new CommandFailed(`${path} is a link that leads in a circle.`);
        visit(real, `${path}/`, [...above, real]);
        continue;
      }
      const file = readOne(real, path, options, stat);
      files.push(file);
      bytes += file.bytes.length;
      if (files.length > LIMITS.itemFiles) {
        throw new CommandFailed(`it has more than ${LIMITS.itemFiles} files; leave some out.`);
      }
      if (bytes > LIMITS.itemBytes) {
        throw new CommandFailed(
          `it has more than ${LIMITS.itemBytes} bytes (8 MiB) in all; leave some files out.`,
        );
      }
    }
  };
  visit(source.real, '', [source.real]);
  return files;
}

function followLink(full: string, path: string, { within }: Source): string {
  let real: string;
  try {
    real = realpathSync(full);
  } catch (cause) {
    throw new CommandFailed(`${path} is a link that leads nowhere.`, { cause });
  }
  if (!isInside(within, real)) {
    throw new CommandFailed(
      `${path} is a link that leads out of ${basename(within)}; put the file itself there.`,
    );
  }
  return real;
}

function readOne(
  full: string,
  path: string,
  { executableBit }: ReadOptions,
  stat: Stats = statSync(full),
): ReadFile {
  if (!stat.isFile()) throw new CommandFailed(`${path} is no file and no folder; take it away.`);
  if (stat.size > LIMITS.fileBytes) {
    throw new CommandFailed(
      `${path} has ${stat.size} bytes, and a file may have ${LIMITS.fileBytes} (1 MiB); make it smaller.`,
    );
  }
  const target = linkStub(full);
  if (target !== null) throw new CommandFailed(`${path} ${stubReason(target)}`);
  const bytes = readFileSync(full);
  return {
    path,
    bytes,
    digest: hash('sha256', bytes, 'hex'),
    executable: executableBit && (stat.mode & 0o100) !== 0,
  };
}
