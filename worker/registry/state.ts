import { RegistryError } from '../../schema/errors.ts';
import type { State } from '../../schema/item.ts';
import type { Written } from './commit.ts';
import type { Context } from './context.ts';
import type { ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

/**
 * Takes an item out of every client on every device. Its revisions stay, and {@link restoreItem} brings it back. Only
 * people reach this verb: no MCP tool does.
 */
export function removeItem(ctx: Context, ref: ItemRef, expected: number): Promise<Written> {
  return setState(ctx, ref, expected, 'removed');
}

/** Switches an item on or off for every client. */
export function setState(ctx: Context, ref: ItemRef, expected: number, state: State): Promise<Written> {
  return writeOnHead(ctx, ref, expected, async (head) => {
    if (head.state === state) return null;
    if (head.state === 'removed') {
      throw new RegistryError('not_found', `The ${head.kind} ${head.name} was removed; restore it first.`);
    }
    const type = state === 'active' ? 'enabled' : state;
    return { id: head.id, head, content: null, state, types: [type] };
  });
}
