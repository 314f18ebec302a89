import type { Root } from './containment.ts';
import { Escape } from './containment.ts';
import { look } from './file.ts';
import { beganAt, beside, discard, keep, type Operation, operations } from './journal.ts';

const DAY = 24 * 60 * 60 * 1000;
/** How long something lies in the trash before it is deleted, in milliseconds. */
export const TRASH_MS = 30 * DAY;
/** For so long each sweep looks again whether an editor, holding the file open, has written to it in the trash. */
const WATCHED_MS = DAY;

/** A change that an editor wrote into a file after it had been moved away. */
export interface Rescued {
  path: string;
  /** Where the change now is: relative to the root, or a full path where the file's folder is gone. */
  copy: string;
}

/**
 * Looks again at what was moved to the trash lately, puts what is no longer as it was beside its old place, and deletes what
 * has lain there for 30 days, after a last look. Call it some seconds after a pass and then every ten minutes.
 */
export async function sweepTrash(root: Root): Promise<Rescued[]> {
  const rescued: Rescued[] = [];
  for (const { operation, readable } of operations(root, 'trash')) {
    const age = root.now() - beganAt(operation);
    if (!readable || (age > WATCHED_MS && age < TRASH_MS)) continue;
    const old = look(operation.old);
    if (old.is !== 'absent' && !(old.is === 'file' && old.digest === operation.base)) {
      rescued.push({ path: operation.path, copy: await rescue(root, operation) });
    } else if (age >= TRASH_MS) {
      root.step('clean');
      discard(operation);
    }
  }
  return rescued;
}

async function rescue(root: Root, operation: Operation): Promise<string> {
  try {
    const copy = await beside(root, operation, operation.old, 'conflict');
    discard(operation);
    return copy;
  } catch (error) {
    if (!(error instanceof Escape)) throw error;
    return keep(root, operation);
  }
}
