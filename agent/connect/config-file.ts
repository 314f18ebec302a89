import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ConnectError } from './connect-error.ts';

/** A client's configuration as found. A byte order mark is no part of the text, and is kept. */
export interface ConfigFile {
  path: string;
  /** Where a link leads; else the path. */
  target: string;
  text: string;
  mark: string;
  /** Null where there is no file yet. */
  mode: number | null;
}

const MARK = '\uFEFF';

/** @throws ConnectError when there is something that cannot be read as text */
export function readConfig(path: string): ConfigFile {
  if (!lstatSync(path, { throwIfNoEntry: false }))
    return { path, target: path, text: '', mark: '', mode: null };
  try {
    const target = realpathSync(path);
    // A pipe would be waited for, without end.
    if (!statSync(target).isFile())
      throw new ConnectError(`${path} was left as it is, because it is no file.`);
    const whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(target));
    const mark = whole.startsWith(MARK) ? MARK : '';
    return { path, target, text: whole.slice(mark.length), mark, mode: statSync(target).mode & 0o7777 };
  } catch (cause) {
    if (cause instanceof ConnectError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT'
        ? 'it is a link to a file that is not there'
        : code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
          ? 'it is no text in UTF-8'
          : code === 'EACCES' || code === 'EPERM'
            ? 'you may not; change its permissions, then connect again'
            : (code ?? 'for no known reason');
    throw new ConnectError(`${path} was left as it is, because it cannot be read: ${reason}.`, { cause });
  }
}

/**
 * Replaces the text, through a link and with the file's own mode; a reader sees the old one or the new one. A new file
 * gets its folders. False, with nothing written, when the file has changed since it was read.
 */
export function writeConfig(file: ConfigFile, text: string): boolean {
  const { path, target, mode, mark } = file;
  const next = `${target}.${randomBytes(4).toString('hex')}.new`;
  try {
    writeFileSync(next, mark + text, { mode: 0o600, flag: 'wx', flush: true });
    if (mode !== null) chmodSync(next, mode);
    if (!unchanged(file)) return false;
    renameSync(next, target);
    return true;
  } catch (cause) {
    throw failed(path, cause);
  } finally {
    rmSync(next, { force: true });
  }
}

/** Makes the folders above a file and gives the outermost one that was missing. */
export function makeFolders(path: string): string | null {
  try {
    return mkdirSync(dirname(path), { recursive: true }) ?? null;
  } catch (cause) {
    throw failed(path, cause);
  }
}

/** Deletes a file, and the folders above it up to `outermost` that are empty then. */
export function deleteConfig(path: string, outermost: string | null): void {
  try {
    rmSync(path);
  } catch (cause) {
    throw failed(path, cause);
  }
  if (outermost === null) return;
  try {
    for (let folder = dirname(path); folder.startsWith(outermost); folder = dirname(folder))
      rmdirSync(folder);
  } catch {
    // Someone else's file is in it by now.
  }
}

function unchanged(file: ConfigFile): boolean {
  const { text, mark, mode } = readConfig(file.path);
  return text === file.text && mark === file.mark && (mode === null) === (file.mode === null);
}

function failed(path: string, cause: unknown): ConnectError {
  if (cause instanceof ConnectError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return new ConnectError(
    `${path} cannot be written (${code ?? message}) and is as it was; check its permissions.`,
    { cause },
  );
}
