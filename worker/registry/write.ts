import type { WriteAnswer } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { type Commit, commit, HeadMoved } from './commit.ts';
import type { Context } from './context.ts';
import { currentCursor } from './cursor.ts';
import { conflict, type Head, type ItemRef, readHead } from './head.ts';

/** How often a write without an expected revision starts again when another write comes between. */
const TRIES = 8;

/**
 * Reads the head, lets a verb decide what to write on it, and commits. When another write came between: with an
 * expected revision the caller gets `conflict`; without, the verb decides again on the new head, so nothing is lost.
 * A verb that returns null has nothing to write, and the head is the answer.
 */
export async function writeOnHead(
  ctx: Context,
  ref: ItemRef,
  expected: number | undefined,
  decide: (head: Head, main: Uint8Array) => Promise<Commit | null>,
): Promise<WriteAnswer> {
  for (let attempt = 1; ; attempt++) {
    const { head, main } = await readHead(ctx, ref);
    ctx.require('skills:write');
    if (expected !== undefined && expected !== head.revision) throw await conflict(ctx, head, expected);
    const write = await decide(head, main);
    if (!write) return { item: head, cursor: await currentCursor(ctx) };
    try {
      return await commit(ctx, write);
    } catch (error) {
      if (!(error instanceof HeadMoved)) throw error;
      if (attempt === TRIES) {
        throw new RegistryError(
          'unavailable',
          `${head.name} is being changed by others again and again; try once more in a moment.`,
          { retry_after_s: 1 },
        );
      }
    }
  }
}
