import { desc, eq, type SQL, sql } from 'drizzle-orm';
import type { AccountEvent, AccountEventList } from '../../schema/account.ts';
import type { Database, Statement } from '../db/client.ts';
import { accountEvents } from '../db/tables/people.ts';
import type { Context } from './context.ts';
import { newId } from './random.ts';

const LISTED = 200;

/**
 * Notes what happened to the access to an account, in the batch that makes it happen. `details` holds no secret. Where it
 * only may happen, the statement stands before the one that does it, with the same condition as `when`.
 */
export function eventStatement(
  db: Database,
  event: {
    readonly accountId: string;
    /** Milliseconds. */
    readonly at: number;
    readonly type: AccountEvent['type'];
    readonly details?: Readonly<Record<string, string>>;
    readonly when?: SQL | undefined;
  },
): Statement {
  const { accountId, at, type, details = {}, when = sql`true` } = event;
  return db
    .insert(accountEvents)
    .select(sql`select ${newId()}, ${accountId}, ${at}, ${type}, ${JSON.stringify(details)} where ${when}`);
}

/** The newest 200 events of the caller's account, newest first. Needs `devices:write`: they say who gets in. */
export async function listEvents(ctx: Context): Promise<AccountEventList> {
  const [events] = await ctx.batch([
    ctx.db
      .select({
        id: accountEvents.id,
        at: accountEvents.at,
        type: accountEvents.type,
        details: accountEvents.details,
      })
      .from(accountEvents)
      .where(eq(accountEvents.accountId, ctx.account))
      .orderBy(desc(accountEvents.at), desc(accountEvents.id))
      .limit(LISTED),
  ]);
  ctx.require('devices:write');
  return { events };
}
