import { and, isNull, lte, sql } from 'drizzle-orm';
import type { Database } from '../db/client.ts';
import { applications, oauthRecords, refreshes } from '../db/tables/programs.ts';
import { withPrefix } from './oauth-records.ts';
import { REPEAT_MS } from './refreshes.ts';

const DAY_MS = 24 * 3_600_000;
/** An application that was disconnected may come back under the id that it registered. */
const KEPT_MS = 90 * DAY_MS;

/** Forgets what the OAuth server no longer needs: what has expired, and registrations of a day ago that nobody let in. */
export async function purgeOAuth(db: Database, now: number): Promise<void> {
  const { key, value } = oauthRecords;
  const grant = sql`'grant:' || ${applications.accountId} || ':' || ${applications.id}`;
  await db.batch([
    db.delete(oauthRecords).where(lte(oauthRecords.expiresAt, now)),
    db.delete(refreshes).where(lte(refreshes.expiresAt, now)),
    db
      .update(refreshes)
      .set({ answer: null })
      .where(lte(refreshes.at, now - REPEAT_MS)),
    db
      .update(applications)
      .set({ revokedAt: now })
      .where(
        and(
          isNull(applications.revokedAt),
          sql`not exists (select 1 from ${oauthRecords} where ${key} = ${grant})`,
        ),
      ),
    db.delete(applications).where(lte(applications.revokedAt, now - KEPT_MS)),
    db.delete(oauthRecords).where(
      and(
        withPrefix('client:'),
        // A client that registered itself has a date in seconds, one that is known by its document one in milliseconds.
        sql`coalesce(json_extract(${value}, '$.registrationDate') * 1000, json_extract(${value}, '$.fetchedAt')) <= ${now - DAY_MS}`,
        sql`not exists (select 1 from ${applications} where ${applications.clientId} = substr(${key}, 8))`,
      ),
    ),
  ]);
}
