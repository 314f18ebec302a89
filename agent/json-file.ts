import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';

/** A file of the agent's state cannot be read as what it should be. It stays as it is. */
export class StateError extends Error {
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} cannot be used: ${reason}. It was left as it is; repair it, or move it away.`, options);
    this.name = 'StateError';
  }
}

/** Reads a file of the agent's state; null when there is none. @throws StateError when it cannot be read */
export function readState(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENOENT') return null;
    throw new StateError(path, UNREADABLE[code] ?? `it cannot be read (${code})`, { cause });
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
  EPERM: 'you may not read it',
  ENOTDIR: 'it leads through something that is no folder',
  ELOOP: 'it is a link that leads in a circle',
};

/**
 * Reads a small JSON file of the agent's state; null when there is none.
 * @throws StateError when it is damaged or of another version
 */
export function readJson<T>(path: string, shape: z.ZodType<T>): T | null {
  const bytes = readState(path);
  if (bytes === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new StateError(path, 'it is no JSON', { cause });
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new StateError(path, `${issue?.path.join('.') || 'it'} is not what this version of the agent writes`);
}

/**
 * Replaces a file by a whole new one that only this user may read. A reader sees the old one or the new one.
 * @throws Unwritten
 */
export function writeWhole(path: string, content: string | Uint8Array, { flush = true } = {}): void {
  const next = `${path}.${randomBytes(4).toString('hex')}.new`;
  writing(path, () => {
    try {
      writeFileSync(next, content, { mode: 0o600, flag: 'wx', flush });
      renameSync(next, path);
    } catch (error) {
      rmSync(next, { force: true });
      throw error;
    }
  });
}

/** A file of the agent's state is as it was, because the system did not let it be written. */
export class Unwritten extends Error {
  constructor(path: string, cause: unknown) {
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    super(`${path} could not be written: ${UNWRITABLE[code] ?? `the system refused it (${code})`}.`, {
      cause,
    });
    this.name = 'Unwritten';
  }
}

const DENIED = 'you may not write there; allow it, then try again';
const UNWRITABLE: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free some space, then try again',
  EDQUOT: 'your disk quota is used up; free some space, then try again',
  EROFS: 'the file system can only be read; make it writable, then try again',
  EACCES: DENIED,
  EPERM: DENIED,
  ENOENT: 'its folder is gone; start the agent again, which makes it anew',
  EISDIR: 'it is a folder; move it away, then try again',
};

/** Runs what writes a file of the agent's state. @throws Unwritten with one sentence */
export function writing<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Unwritten(path, error);
  }
}

/** {@link writeWhole} for {@link readJson}. */
export function writeJson(path: string, value: unknown): void {
  writeWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}
