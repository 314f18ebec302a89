import { eq } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { accounts } from '../db/tables.ts';
import type { Context } from './context.ts';

/** `epoch:seq` of the registry as it is now. */
export async function currentCursor(ctx: Context): Promise<string> {
  const [[account]] = await ctx.batch([
    ctx.db
      .select({ epoch: accounts.epoch, seq: accounts.seq })
      .from(accounts)
      .where(eq(accounts.id, ctx.account)),
  ]);
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
