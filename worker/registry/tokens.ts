import { and, desc, eq, gt, isNull, or, sql } from 'drizzle-orm';
import type { ApiToken, ApiTokenBody, ApiTokenList, MadeApiToken } from '../../schema/account.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { tokens } from '../db/tables/programs.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { labelOf } from './label.ts';
import { newId, newSecret } from './random.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Makes an API token, which is in the answer and kept nowhere. It can do no more than its maker, and where that is an API
 * token that ends, it ends no later. Needs `devices:write`.
 * @throws RegistryError `insufficient_scope` for a scope that the caller lacks, `passkey_required`, `invalid_input`
 */
export async function makeToken(ctx: Context, { name, scopes, days }: ApiTokenBody): Promise<MadeApiToken> {
  const { accountId, id: maker } = await ctx.enter();
  for (const scope of ['devices:write', ...scopes] as const) ctx.require(scope);
  ctx.requireFreshPasskey();
  const token = `sk_${newSecret()}`;
  const createdAt = ctx.now();
  const [limit] = await ctx.db.select({ at: tokens.expiresAt }).from(tokens).where(eq(tokens.id, maker));
  const ends = [limit?.at ?? null, days === null ? null : createdAt + days * DAY_MS].filter(
    (end) => end !== null,
  );
  const made = {
    id: newId(),
    name: labelOf(name, 'name'),
    scopes: [...new Set(scopes)],
    createdAt,
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
    lastUsedAt: null,
  };
  await ctx.write([
    ctx.db.insert(tokens).values({ ...made, accountId, hash: await sha256(token) }),
    eventStatement(ctx.db, {
      accountId,
      at: createdAt,
      type: 'token_made',
      details: { name: made.name, scopes: made.scopes.join(' ') },
    }),
  ]);
  return { token, made: describe(made) };
}

/** API tokens that let somebody in now, newest first. Needs `devices:write`. */
export async function listTokens(ctx: Context): Promise<ApiTokenList> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(tokens)
      .where(
        and(
          eq(tokens.accountId, ctx.account),
          isNull(tokens.revokedAt),
          or(isNull(tokens.expiresAt), gt(tokens.expiresAt, ctx.now())),
        ),
      )
      .orderBy(desc(tokens.createdAt), tokens.id),
  ]);
  ctx.require('devices:write');
  return { tokens: rows.map(describe) };
}

/** Ends an API token of the caller's account: its next request is refused. Ended before is no error. Needs `devices:write`. */
export async function revokeToken(ctx: Context, id: string): Promise<void> {
  const named = and(eq(tokens.accountId, ctx.account), eq(tokens.id, id));
  const [[token]] = await ctx.batch([ctx.db.select({ name: tokens.name }).from(tokens).where(named)]);
  ctx.require('devices:write');
  if (!token)
    throw new RegistryError('not_found', `There is no API token ${id}; list the tokens to see their ids.`);
  const at = ctx.now();
  const living = and(eq(tokens.id, id), isNull(tokens.revokedAt));
  await ctx.write([
    eventStatement(ctx.db, {
      accountId: ctx.actor.accountId,
      at,
      type: 'token_revoked',
      details: { name: token.name },
      when: sql`exists (select 1 from ${tokens} where ${living})`,
    }),
    ctx.db.update(tokens).set({ revokedAt: at }).where(living),
  ]);
}

type Row = Omit<typeof tokens.$inferSelect, 'accountId' | 'hash' | 'revokedAt'>;

function describe({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: Row): ApiToken {
  return {
    id,
    name,
    scopes,
    created_at: createdAt,
    expires_at: expiresAt,
    last_used_at: lastUsedAt,
  };
}
