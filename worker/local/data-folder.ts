import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { StartError } from './start-error.ts';

/** `owner.json`: what a script needs to speak for the owner. */
export const Owner = z.object({ url: z.string(), token: z.string() });
export type Owner = z.infer<typeof Owner>;

/** The Worker takes no shorter one. */
const Secret = z.object({ secret_key: z.string().min(32) });

/**
 * Makes the folder and the database file where they are missing, both for their owner only, and returns the file's path.
 * @throws StartError when they can neither be made nor written.
 */
export async function databaseFile(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'registry.db');
    await (await open(path, 'a', 0o600)).close();
    return path;
  } catch (error) {
    throw unwritable(folder, error);
  }
}

/** The Worker's secret key, 32 bytes in base64url: made on the first run, the same ever after. */
export async function secretKey(folder: string): Promise<string> {
  const path = join(folder, 'secret.json');
  const kept = await readJson(path, Secret);
  if (kept) return kept.secret_key;
  const made = { secret_key: randomBytes(32).toString('base64url') };
  await writePrivately(path, made);
  return made.secret_key;
}

export function ownerFile(folder: string): string {
  return join(folder, 'owner.json');
}

/** Null when there is no such file. */
export function readOwner(folder: string): Promise<Owner | null> {
  return readJson(ownerFile(folder), Owner);
}

export function writeOwner(folder: string, owner: Owner): Promise<void> {
  return writePrivately(ownerFile(folder), owner);
}

async function readJson<T>(path: string, shape: z.ZodType<T>): Promise<T | null> {
  try {
    return shape.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new StartError(`${path} cannot be read; repair it, or put back a copy from a backup.`, {
      cause: error,
    });
  }
}

async function writePrivately(path: string, content: object): Promise<void> {
  const staged = `${path}.new`;
  try {
    const file = await open(staged, 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(staged, path);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, cause: unknown): StartError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return new StartError(`${path} is no folder, or lies below a file; name another with --data.`, { cause });
  }
  const reason = code === undefined ? '' : ` (${code})`;
  return new StartError(
    `${path} cannot be written${reason}; choose another folder with --data, or repair its permissions.`,
    {
      cause,
    },
  );
}
