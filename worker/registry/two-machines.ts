import { and, eq, gt, sql } from 'drizzle-orm';
import { accountEvents } from '../db/tables/people.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';

const HOUR_MS = 60 * 60_000;

/** Where one machine is connected from, and since when, milliseconds. */
interface Connection {
  readonly place: string;
  readonly since: number;
}

/**
 * Tells the person, once an hour at most, that the calling device's key is used on two machines at once: one of them is a
 * copy. Times are ISO 8601.
 */
export async function noteTwoMachines(ctx: Context, older: Connection, newer: Connection): Promise<void> {
  const { id, name, accountId } = await ctx.enter();
  const at = ctx.now();
  const said = and(
    eq(accountEvents.accountId, accountId),
    eq(accountEvents.type, 'key_on_two_machines'),
    gt(accountEvents.at, at - HOUR_MS),
    sql`${accountEvents.details} ->> 'device' = ${id}`,
  );
  await ctx.batch([
    eventStatement(ctx.db, {
      accountId,
      at,
      type: 'key_on_two_machines',
      details: {
        device: id,
        name,
        place: newer.place,
        since: new Date(newer.since).toISOString(),
        other_place: older.place,
        other_since: new Date(older.since).toISOString(),
      },
      when: sql`not exists (select 1 from ${accountEvents} where ${said})`,
    }),
  ]);
}
