import { and, desc, eq, gt, isNull, lte, sql } from 'drizzle-orm';
import type { Session, SessionList } from '../../schema/account.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Database, Statement } from '../db/client.ts';
import { sessions } from '../db/tables/people.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { newId, newSecret } from './random.ts';
import { IDLE_MS } from './session-life.ts';

/** The browser that signs in. */
export interface Visitor {
  /** Browser and system, in words for the person. */
  readonly browser: string;
  readonly place: string;
  /** SHA-256 of the session cookie that the browser came with, if any: that session ends. */
  readonly before: string | null;
}

/**
 * A new session and the statements that open it, to ride in the batch that proves the person. `secret` is the cookie's
 * value. Each login gets a new one and ends what the browser had, so that nobody can prepare a session for somebody else.
 * `passkey` is the id of the one that was checked just now; null when something else opens it.
 */
export async function newSession(
  db: Database,
  now: number,
  {
    accountId,
    method,
    visitor: { browser, place, before },
    passkey,
  }: {
    readonly accountId: string;
    readonly method: (typeof sessions.$inferInsert)['method'];
    readonly visitor: Visitor;
    readonly passkey: string | null;
  },
): Promise<{ secret: string; statements: readonly Statement[] }> {
  const secret = newSecret();
  const statements: Statement[] = [
    db.delete(sessions).where(lte(sessions.expiresAt, now)),
    db.insert(sessions).values({
      id: newId(),
      hash: await sha256(secret),
      accountId,
      method,
      passkeyId: passkey,
      browser,
      place,
      createdAt: now,
      expiresAt: now + IDLE_MS,
      lastUsedAt: now,
      verifiedAt: passkey === null ? null : now,
    }),
    eventStatement(db, { accountId, at: now, type: 'signed_in', details: { method, browser, place } }),
  ];
  if (before !== null) statements.push(endStatement(db, before, now));
  return { secret, statements };
}

/** Signs a browser out, by the SHA-256 of its cookie. A session that ended already is no error. */
export async function endSession(db: Database, hash: string, now: number): Promise<void> {
  await db.batch([endStatement(db, hash, now)]);
}

function endStatement(db: Database, hash: string, now: number) {
  return db
    .update(sessions)
    .set({ revokedAt: now })
    .where(and(eq(sessions.hash, hash), isNull(sessions.revokedAt)));
}

/** Where the account is signed in, last used first. Needs `devices:write`. */
export async function listSessions(ctx: Context): Promise<SessionList> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.accountId, ctx.account),
          isNull(sessions.revokedAt),
          gt(sessions.expiresAt, ctx.now()),
        ),
      )
      .orderBy(desc(sessions.lastUsedAt), desc(sessions.createdAt)),
  ]);
  ctx.require('devices:write');
  return {
    sessions: rows.map(
      (row): Session => ({
        id: row.id,
        browser: row.browser,
        place: row.place,
        method: row.method,
        created_at: row.createdAt,
        last_used_at: row.lastUsedAt,
        expires_at: row.expiresAt,
        current: ctx.actor.type === 'session' && ctx.actor.id === row.id,
      }),
    ),
  };
}

/** Ends a session of the caller's account: its next request is refused. Ended before is no error. Needs `devices:write`. */
export async function revokeSession(ctx: Context, id: string): Promise<void> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  const now = ctx.now();
  const [known] = await ctx.db
    .select({ browser: sessions.browser })
    .from(sessions)
    .where(and(eq(sessions.accountId, accountId), eq(sessions.id, id)));
  if (!known)
    throw new RegistryError('not_found', `There is no session ${id}; list the sessions to see their ids.`);
  const living = and(eq(sessions.id, id), isNull(sessions.revokedAt));
  await ctx.write([
    eventStatement(ctx.db, {
      accountId,
      at: now,
      type: 'session_revoked',
      details: { browser: known.browser },
      when: sql`exists (select 1 from ${sessions} where ${living})`,
    }),
    ctx.db.update(sessions).set({ revokedAt: now }).where(living),
  ]);
}
