import { and, count, eq, gt, sql } from 'drizzle-orm';
import type { WriteAnswer } from '../../schema/api.ts';
import type { Statement } from '../db/client.ts';
import { changes, guards } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import type { ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

/** So many a session removes in a while without its person's passkey. */
const FEW = 10;
const WHILE_MS = 10 * 60_000;

/**
 * Takes an item out of every client on every device. Its revisions stay, and {@link restoreItem} brings it back. Only
 * people reach this verb: no MCP tool does. Removing what is removed changes nothing.
 * @throws RegistryError `not_found`, `conflict`, `passkey_required` for a session's eleventh within ten minutes
 */
export function removeItem(ctx: Context, ref: ItemRef, expected: number): Promise<WriteAnswer> {
  return writeOnHead(ctx, ref, expected, async (head) => {
    if (head.state === 'removed') return null;
    const also = ctx.passkeyIsFresh ? [] : await staysFew(ctx);
    return { id: head.id, head, content: null, state: 'removed', types: ['removed'], also };
  });
}

/** The count is taken again in the batch that removes, or of many removals at once each would be among the first ten. */
async function staysFew(ctx: Context): Promise<Statement[]> {
  const { accountId, type, id } = ctx.actor;
  const mine = and(
    eq(changes.accountId, accountId),
    // As a literal, or the index over removals does not serve.
    sql`${changes.type} = 'removed'`,
    gt(changes.at, ctx.now() - WHILE_MS),
    sql`${changes.author} ->> 'type' = ${type} and ${changes.author} ->> 'id' = ${id}`,
  );
  const [removed] = await ctx.db.select({ n: count() }).from(changes).where(mine);
  if (removed && removed.n >= FEW) ctx.requireFreshPasskey();
  const holds = sql`(select count(*) from ${changes} where ${mine}) <= ${FEW}`;
  return [ctx.db.insert(guards).values({ holds })];
}
