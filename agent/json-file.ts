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

/**
 * Reads a small JSON file of the agent's state; null when there is none.
 * @throws StateError when it is damaged or of another version
 */
export function readJson<T>(path: string, shape: z.ZodType<T>): T | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new StateError(path, 'it is no JSON', { cause });
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new StateError(path, `${issue?.path.join('.') || 'it'} is not what this version of the agent writes`);
}

/** Replaces a file by a whole new one that only this user may read. A reader sees the old one or the new one. */
export function writeWhole(path: string, content: string | Uint8Array, { flush = true } = {}): void {
  const next = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    writeFileSync(next, content, { mode: 0o600, flag: 'wx', flush });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

/** {@link writeWhole} for {@link readJson}. */
export function writeJson(path: string, value: unknown): void {
  writeWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}
