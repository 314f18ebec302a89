import { eq } from 'drizzle-orm';
import { sha256 } from '../../../schema/digest.ts';
import { passkeys, sessions } from '../../../worker/db/tables/people.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import { newSession } from '../../../worker/registry/sessions.ts';
import { ORIGIN, type TestApi } from '../api/harness.ts';
import { nobodysPasskey } from './nobodys-passkey.ts';

export interface SignedIn {
  readonly accountId: string;
  /** Id of the session. */
  readonly id: string;
  /** The cookie's value. */
  readonly secret: string;
  /** What a page of our own sends: for `call(path, { method, body, headers })`. */
  readonly headers: { cookie: string; origin: string };
  /** As if a passkey had been checked just now; `stale` takes that back. */
  fresh(): Promise<void>;
  stale(): Promise<void>;
}

/**
 * A browser that is signed in to an account (the first one made, unless one is named) which has a passkey. The passkey's
 * key is nobody's: `authenticator.ts` is for tests that sign. Not fresh, unless made so.
 */
export async function signedIn(
  { db, clock }: Pick<TestApi, 'db' | 'clock'>,
  account?: string,
): Promise<SignedIn> {
  const [first] = await db.select({ id: accounts.id }).from(accounts).limit(1);
  const accountId = account ?? first?.id;
  if (accountId === undefined) throw new Error('There is no account to sign in to.');
  const visitor = { browser: 'Firefox on Linux', place: 'a test', before: null };
  const method = 'passkey';
  const { secret, statements } = await newSession(db, clock.now, {
    accountId,
    method,
    visitor,
    passkey: null,
  });
  await db.batch([db.insert(passkeys).values(nobodysPasskey(accountId, clock.now)), ...statements]);
  const [session] = await db
    .select({ id: sessions.id })
    .from(sessions)
    .where(eq(sessions.hash, await sha256(secret)));
  const id = session?.id ?? '';
  const verify = async (verifiedAt: number | null) =>
    void (await db.update(sessions).set({ verifiedAt }).where(eq(sessions.id, id)));
  return {
    accountId,
    id,
    secret,
    headers: { cookie: `repertoire=${secret}`, origin: ORIGIN },
    fresh: () => verify(clock.now),
    stale: () => verify(null),
  };
}
