import { sql } from 'drizzle-orm';
import { sessions } from '../db/tables/people.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * A session ends a week after its last use, so that one left behind in a borrowed browser closes by itself, and thirty
 * days after signing in whatever happens, so that a stolen cookie is not good for ever: signing in again is one touch.
 */
export const IDLE_MS = 7 * DAY_MS;
const LIFE_MS = 30 * DAY_MS;
export const SESSION_LIFE_S = LIFE_MS / 1000;

/** What a use at `now` makes of a session's end. */
export function prolonged(now: number) {
  return { lastUsedAt: now, expiresAt: sql`min(${sessions.createdAt} + ${LIFE_MS}, ${now + IDLE_MS})` };
}
