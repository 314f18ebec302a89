import type { Context as Call } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { sessionClaim } from '../auth/session.ts';
import { type AppEnv, surroundings } from '../deps.ts';
import { accountName } from '../registry/account.ts';
import { Context } from '../registry/context.ts';

/** Whose session the browser has, proven, and what the account is called; null for nobody's. */
export async function visitor(c: Call<AppEnv>): Promise<{ ctx: Context; account: string } | null> {
  const claim = await sessionClaim(c.req.raw);
  if (!claim) return null;
  const ctx = new Context(surroundings(c), claim);
  try {
    return { ctx, account: await accountName(ctx) };
  } catch (error) {
    if (error instanceof RegistryError && error.code === 'unauthorized') return null;
    throw error;
  }
}
