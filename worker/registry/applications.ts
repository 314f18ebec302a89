import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { AccountEvent, ApplicationList } from '../../schema/account.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Database, Statement } from '../db/client.ts';
import { accountEvents } from '../db/tables/people.ts';
import { applications, oauthRecords, refreshes } from '../db/tables/programs.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { withPrefix } from './oauth-records.ts';
import { newId } from './random.ts';

/** An application that a person lets in; `id` is that of its grant. */
export type NewApplication = Omit<typeof applications.$inferInsert, 'lastUsedAt' | 'revokedAt'>;

/** Records an application, in the batch that stores its grant. */
export function connectStatements(db: Database, application: NewApplication): Statement[] {
  const { accountId, connectedAt: at, name, host } = application;
  return [
    db.insert(applications).values(application),
    eventStatement(db, { accountId, at, type: 'application_connected', details: { name, host } }),
  ];
}

/** Applications that the caller's account lets in, newest first. Needs `devices:write`: they say who gets in. */
export async function listApplications(ctx: Context): Promise<ApplicationList> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(applications)
      .where(and(eq(applications.accountId, ctx.account), isNull(applications.revokedAt)))
      .orderBy(desc(applications.connectedAt), applications.id),
  ]);
  ctx.require('devices:write');
  return {
    applications: rows.map((row) => ({
      id: row.id,
      client_id: row.clientId,
      name: row.name,
      host: row.host,
      scopes: [...row.scopes],
      read_only: row.readOnly,
      connected_at: row.connectedAt,
      last_used_at: row.lastUsedAt,
    })),
  };
}

/** Disconnects an application: its next request is refused. Disconnected before is no error. Needs `devices:write`. */
export async function revokeApplication(ctx: Context, id: string): Promise<void> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  const [known] = await ctx.db
    .select({ id: applications.id })
    .from(applications)
    .where(and(eq(applications.id, id), eq(applications.accountId, accountId)));
  if (!known) {
    throw new RegistryError(
      'not_found',
      `There is no application ${JSON.stringify(id)}; list the applications to see their ids.`,
    );
  }
  const [first, ...rest] = endGrant(ctx.db, {
    accountId,
    grant: id,
    at: ctx.now(),
    event: 'application_revoked',
  });
  await ctx.write([first, ...rest]);
}

/**
 * Ends a grant, with every token of it that the OAuth library keeps: its application is refused from its next request on.
 * `event` tells the person, when the application was still connected; null for an end that is no news.
 */
export function endGrant(
  db: Database,
  {
    grant,
    event,
    ...of
  }: { accountId: string; grant: string; at: number; event: AccountEvent['type'] | null },
): [Statement, ...Statement[]] {
  const { accountId, at } = of;
  const isIt = and(eq(applications.id, grant), eq(applications.accountId, accountId));
  const ends = end(db, at, {
    which: isIt,
    grants: eq(oauthRecords.key, `grant:${accountId}:${grant}`),
    tokens: withPrefix(`token:${accountId}:${grant}:`),
    exchanged: eq(refreshes.grant, grant),
  });
  if (event === null) return ends;
  const told = sql`select ${newId()}, ${accountId}, ${at}, ${event}, json_object('name', ${applications.name}, 'host', ${applications.host}) from ${applications} where ${isIt} and ${applications.revokedAt} is null`;
  return [db.insert(accountEvents).select(told), ...ends];
}

/** As {@link endGrant}, for every application of an account, and without an event. */
export function endAllGrants(
  db: Database,
  { accountId, at }: { accountId: string; at: number },
): [Statement, ...Statement[]] {
  return end(db, at, {
    which: eq(applications.accountId, accountId),
    grants: withPrefix(`grant:${accountId}:`),
    tokens: withPrefix(`token:${accountId}:`),
    exchanged: eq(refreshes.accountId, accountId),
  });
}

function end(
  db: Database,
  at: number,
  of: Record<'which' | 'grants' | 'tokens' | 'exchanged', SQL | undefined>,
): [Statement, ...Statement[]] {
  return [
    db
      .update(applications)
      .set({ revokedAt: at })
      .where(and(of.which, isNull(applications.revokedAt))),
    db.delete(oauthRecords).where(of.grants),
    db.delete(oauthRecords).where(of.tokens),
    db.update(refreshes).set({ answer: null }).where(of.exchanged),
  ];
}
