import { and, eq, lte } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import type { Database } from '../db/client.ts';
import { challenges } from '../db/tables/people.ts';

/** Seconds that a browser has to answer what it was asked. */
export const CHALLENGE_LIFE_S = 5 * 60;

interface Asked {
  /** SHA-256 of the cookie of the browser that is asked. */
  readonly browser: string;
  readonly purpose: (typeof challenges.$inferSelect)['purpose'];
}

/** Keeps what a browser is asked. An older question for the same purpose is void. */
export async function keepChallenge(
  db: Database,
  {
    now,
    ...asked
  }: Asked & {
    readonly challenge: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly now: number;
  },
): Promise<void> {
  const { challenge, data = null } = asked;
  const kept = { challenge, data, expiresAt: now + CHALLENGE_LIFE_S * 1000 };
  await db.batch([
    db.delete(challenges).where(lte(challenges.expiresAt, now)),
    db
      .insert(challenges)
      .values({ ...asked, ...kept })
      .onConflictDoUpdate({ target: [challenges.browser, challenges.purpose], set: kept }),
  ]);
}

/**
 * Takes out what this browser was asked, before the answer is judged: right or wrong, it is answered once.
 * @throws RegistryError `expired_token` when it was asked nothing, long ago, or has answered already
 */
export async function takeChallenge(
  db: Database,
  {
    browser,
    purpose,
    now,
  }: { readonly browser: string | null } & Omit<Asked, 'browser'> & {
      readonly now: number;
    },
): Promise<{ challenge: string; data: Readonly<Record<string, string>> }> {
  const [taken] =
    browser === null
      ? []
      : await db
          .delete(challenges)
          .where(and(eq(challenges.browser, browser), eq(challenges.purpose, purpose)))
          .returning();
  if (taken && taken.expiresAt > now) return { challenge: taken.challenge, data: taken.data ?? {} };
  throw new RegistryError(
    'expired_token',
    'This browser was asked nothing that it could answer now, or more than five minutes ago; start again from the page.',
  );
}
