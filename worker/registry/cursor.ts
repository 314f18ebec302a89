import { eq, type SQL, sql } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { accounts } from '../db/tables/registry.ts';
import type { Context } from './context.ts';

/** Where the registry is, as {@link formatCursor} takes it. */
export function selectPosition(ctx: Context) {
  return ctx.db
    .select({ epoch: accounts.epoch, seq: accounts.seq })
    .from(accounts)
    .where(eq(accounts.id, ctx.account));
}

/** The number of the registry's last change, for use in a statement. */
export function lastSeq(ctx: Context): SQL<number> {
  return sql<number>`(select ${accounts.seq} from ${accounts} where ${accounts.id} = ${ctx.account})`;
}

/** `epoch:seq` of the registry as it is now. */
export async function currentCursor(ctx: Context): Promise<string> {
  const [[account]] = await ctx.batch([selectPosition(ctx)]);
  if (!account) throw new RegistryError('internal', 'The account is missing.');
  return formatCursor(account);
}

export function formatCursor({ epoch, seq }: { epoch: string; seq: number }): string {
  return `${epoch}:${seq}`;
}

/** A number that no registry counts to is one ahead of every registry. */
export function parseCursor(cursor: string): { epoch: string; seq: number } {
  const [epoch = '', seq = ''] = cursor.split(':');
  return { epoch, seq: Math.min(Number(seq), Number.MAX_SAFE_INTEGER) };
}
