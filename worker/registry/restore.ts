import { and, eq } from 'drizzle-orm';
import type { WriteAnswer } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { files, revisions } from '../db/tables/registry.ts';
import { loadBlobs } from './blobs.ts';
import { prepareContent } from './content.ts';
import type { Context } from './context.ts';
import type { ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

/**
 * Brings back a removed item, or an older revision's content: always as a new revision on top, nothing is rewritten.
 * Without `revision` it is the removed item's last one.
 * @throws RegistryError `not_found`, `conflict`, `name_change`, `invalid_input` when there is nothing to restore
 */
export function restoreItem(
  ctx: Context,
  ref: ItemRef,
  { expected_revision, revision }: { expected_revision: number; revision?: number | undefined },
): Promise<WriteAnswer> {
  return writeOnHead(ctx, ref, expected_revision, async (head) => {
    const wanted = revision ?? head.revision;
    if (wanted === head.revision && head.state !== 'removed') {
      throw new RegistryError(
        'invalid_input',
        `${head.name} is at revision ${head.revision} already; name an older revision to restore.`,
      );
    }
    const [rows, [old]] = await ctx.batch([
      ctx.db
        .select()
        .from(files)
        .where(and(eq(files.itemId, head.id), eq(files.revision, wanted))),
      ctx.db
        .select({ name: revisions.name })
        .from(revisions)
        .where(and(eq(revisions.itemId, head.id), eq(revisions.revision, wanted))),
    ]);
    if (!old) {
      throw new RegistryError(
        'not_found',
        `${head.name} has no revision ${wanted}; its revisions are 1 to ${head.revision}.`,
      );
    }
    if (old.name !== head.name) {
      throw new RegistryError(
        'name_change',
        `Revision ${wanted} is from when this item was called ${old.name}; ${head.state === 'removed' ? `restore ${head.name} as it was, then ` : ''}rename it to ${old.name} first.`,
      );
    }
    const content = await prepareContent({
      kind: head.kind,
      parent: [],
      changes: Object.fromEntries(rows.map(({ path, digest, executable }) => [path, { digest, executable }])),
      fallbackName: head.name,
      load: loadBlobs(ctx),
    });
    const state = head.state === 'removed' ? 'active' : head.state;
    return { id: head.id, head, content, state, types: ['restored'] };
  });
}
