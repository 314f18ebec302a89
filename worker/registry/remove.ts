import type { WriteAnswer } from '../../schema/api.ts';
import type { Context } from './context.ts';
import type { ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

/**
 * Takes an item out of every client on every device. Its revisions stay, and {@link restoreItem} brings it back. Only
 * people reach this verb: no MCP tool does. Removing what is removed changes nothing.
 * @throws RegistryError `not_found`, `conflict`
 */
export function removeItem(ctx: Context, ref: ItemRef, expected: number): Promise<WriteAnswer> {
  return writeOnHead(ctx, ref, expected, async (head) =>
    head.state === 'removed'
      ? null
      : { id: head.id, head, content: null, state: 'removed', types: ['removed'] },
  );
}
