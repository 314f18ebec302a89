import { and, eq, gt } from 'drizzle-orm';
import type { Database, Statement } from '../db/client.ts';
import { refreshes } from '../db/tables/programs.ts';

/** For so long the same refresh token gets the same answer again: parallel refreshes, or one whose answer was lost. */
export const REPEAT_MS = 60_000;
/** For so long an exchanged token is known when it comes again. */
const REMEMBERED_MS = 30 * 24 * 3_600_000;

/** What is known of a refresh token that was exchanged; `answer` while it may be repeated. Null for any other. */
export async function findRefresh(
  db: Database,
  hash: string,
  now: number,
): Promise<{ answer: string | null } | null> {
  const [row] = await db
    .select({ answer: refreshes.answer, at: refreshes.at })
    .from(refreshes)
    .where(and(eq(refreshes.hash, hash), gt(refreshes.expiresAt, now)));
  if (!row) return null;
  return { answer: now - row.at < REPEAT_MS ? row.answer : null };
}

/**
 * Notes that a refresh token was exchanged, in the batch that does it. `answer` is sealed, and null for a token that
 * was replaced before it was ever used.
 */
export function exchangedStatement(
  db: Database,
  exchanged: { hash: string; grant: string; accountId: string; answer: string | null; at: number },
): Statement {
  const row = { ...exchanged, expiresAt: exchanged.at + REMEMBERED_MS };
  return db.insert(refreshes).values(row).onConflictDoUpdate({ target: refreshes.hash, set: row });
}
