import { setTimeout as sleep } from 'node:timers/promises';
import { RegistryError } from '../../schema/errors.ts';
import type { Root, Step } from './containment.ts';

/** A change that did not happen, or did not end: `recover` ends it. On disk is what was there before, or the new bytes. */
export interface Failure {
  done: 'failed';
  /** The system's code, such as ENOSPC. */
  code: string;
  /** One sentence for a person: what, why, what to do. */
  message: string;
}

/**
 * Carries out one change, again and again while another program holds the file. On Windows a lock shows as EPERM, EACCES or
 * EBUSY; elsewhere the first two are lasting refusals, which waiting does not cure.
 */
export async function attempt<T>(root: Root, step: Step, change: () => T): Promise<T> {
  for (const delay of root.delays) {
    try {
      root.step(step);
      return change();
    } catch (error) {
      if (!isLock(root, codeOf(error))) throw error;
      await sleep(delay);
    }
  }
  root.step(step);
  return change();
}

function isLock(root: Root, code: string): boolean {
  return code === 'EBUSY' || (root.platform === 'win32' && (code === 'EPERM' || code === 'EACCES'));
}

/** The system's error code, or an empty string. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** Says a system error about a path (relative to the root) as one sentence. */
export function failure(root: Root, path: string, error: unknown): Failure {
  const code = codeOf(error);
  const reason =
    REASONS[code] ??
    (error instanceof RegistryError ? error.message : `an unexpected error (${code || String(error)}).`);
  return { done: 'failed', code, message: `${path} in ${root.path} could not be changed: ${reason}` };
}

const DENIED = 'the system denies access. Allow yourself to write there; the next pass tries again.';
const HELD = 'another program holds it. Close that program; the next pass tries again.';
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free some space; the next pass tries again.',
  EDQUOT: 'your disk quota is used up. Free some space; the next pass tries again.',
  EROFS: 'the file system can only be read. Make it writable; the next pass tries again.',
  EACCES: DENIED,
  EPERM: DENIED,
  EBUSY: HELD,
  EMFILE: 'too many files are open. The next pass tries again.',
  ENFILE: 'too many files are open. The next pass tries again.',
  ENAMETOOLONG: 'its path is too long for this system. Shorten the name of the file or its folder.',
};
