import { eq, sql } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { guardBroke, type Statement } from '../db/client.ts';
import { recoveryCodes, sessions } from '../db/tables/people.ts';
import { guards } from '../db/tables/registry.ts';
import { eventStatement } from './account-events.ts';
import { takeAttempt } from './attempts.ts';
import type { Context, Surroundings } from './context.ts';
import { type PasskeyUse, useStatements } from './passkeys.ts';
import { accountOfCode, codeHash, isUnused } from './recovery-codes.ts';
import { newSession, type Visitor } from './sessions.ts';

const CODES_PER_HOUR = 10;
const HOUR_MS = 60 * 60_000;

/** Opens a session by a passkey's signature and gives the cookie's value. @throws RegistryError `access_denied` */
export async function signInByPasskey(
  { db, now }: Surroundings,
  use: PasskeyUse,
  visitor: Visitor,
): Promise<string> {
  const { accountId } = use.passkey;
  const at = now();
  const session = await newSession(db, at, {
    accountId,
    method: 'passkey',
    visitor,
    passkey: use.passkey.id,
  });
  await checked(() =>
    db.batch([...useStatements(db, at, use), ...session.statements] as unknown as [Statement]),
  );
  return session.secret;
}

/** Marks the caller's session as fresh by a signature of a passkey of the same account. @throws RegistryError `access_denied` */
export async function confirmByPasskey(ctx: Context, use: PasskeyUse): Promise<void> {
  const { accountId, id } = await ctx.enter();
  if (use.passkey.accountId !== accountId)
    throw new RegistryError(
      'access_denied',
      'This passkey is of another account; confirm with one of the account that is signed in.',
    );
  const at = ctx.now();
  await checked(() =>
    ctx.write([
      ...useStatements(ctx.db, at, use),
      ctx.db.update(sessions).set({ verifiedAt: at }).where(eq(sessions.id, id)),
    ] as unknown as [Statement]),
  );
}

async function checked(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!guardBroke(error)) throw error;
    throw new RegistryError(
      'access_denied',
      'This passkey was removed or used elsewhere at the same moment, so it was refused; try again.',
    );
  }
}

/**
 * Opens a session by a recovery code, which is used up by it, and gives the cookie's value. The session is not fresh: what
 * it may do without a passkey is to add one.
 * @throws RegistryError `access_denied`; `rate_limited` after ten tries in an hour from one place
 */
export async function signInByCode(
  { db, now }: Surroundings,
  typed: string,
  visitor: Visitor,
): Promise<string> {
  const at = now();
  const { browser, place } = visitor;
  await takeAttempt(db, { bucket: `recovery:${place}`, max: CODES_PER_HOUR, windowMs: HOUR_MS, now: at });
  const hash = await codeHash(typed);
  const accountId = await accountOfCode(db, hash);
  if (accountId === null) throw wrongCode();
  const session = await newSession(db, at, { accountId, method: 'recovery', visitor, passkey: null });
  try {
    await db.batch([
      db
        .insert(guards)
        .values({ holds: sql`exists (select 1 from ${recoveryCodes} where ${isUnused(hash)})` }),
      db.delete(guards),
      db.update(recoveryCodes).set({ usedAt: at }).where(eq(recoveryCodes.hash, hash)),
      eventStatement(db, { accountId, at, type: 'recovery_code_used', details: { browser, place } }),
      ...session.statements,
    ]);
  } catch (error) {
    throw guardBroke(error) ? wrongCode() : error;
  }
  return session.secret;
}

function wrongCode(): RegistryError {
  return new RegistryError(
    'access_denied',
    'This recovery code is not known here or was used already; type another one of your eight.',
  );
}
