import { eq } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { accounts } from '../db/tables/registry.ts';
import type { Context } from './context.ts';

/** What the caller's account is called. */
export async function accountName(ctx: Context): Promise<string> {
  const [[account]] = await ctx.batch([
    ctx.db.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, ctx.account)),
  ]);
  if (!account) throw new RegistryError('internal', 'The account is missing.');
  return account.name;
}
