import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Failure, failure } from './attempt.ts';
import type { Root } from './containment.ts';
import { clearStages, discard, keep, operations, type Settled, settle } from './journal.ts';

/**
 * Ends what a crash or a failure left half done below a root: afterwards each file is the old one or the new one, and nothing
 * temporary is left. Call it before each pass, never while a write to the same root is under way.
 */
export async function recover(root: Root): Promise<(Settled | Failure)[]> {
  const ended: (Settled | Failure)[] = [];
  clearStages(root);
  for (const { operation, readable } of operations(root, 'staging')) {
    try {
      if (readable) ended.push(await settle(root, operation));
      else if (!existsSync(operation.old)) discard(operation);
      else {
        mkdirSync(join(root.store, 'kept'), { recursive: true });
        keep(root, operation);
      }
    } catch (error) {
      ended.push(failure(root, operation.path, error));
    }
  }
  return ended;
}
