import { and, eq, isNull } from 'drizzle-orm';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Database, Statement } from '../db/client.ts';
import { recoveryCodes } from '../db/tables/people.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';

const CODES = 8;
/** Crockford's 32 signs, in which no two look alike: 20 of them are 100 bits. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 20;
const GROUP = /.{5}(?=.)/g;

/** Eight new codes, and the statements that put them in the place of an account's old ones. */
export async function newCodes(
  db: Database,
  { accountId, at }: { accountId: string; at: number },
): Promise<{ codes: string[]; statements: Statement[] }> {
  const codes = Array.from({ length: CODES }, newCode);
  const hashes = await Promise.all(codes.map(codeHash));
  return {
    codes,
    statements: [
      db.delete(recoveryCodes).where(eq(recoveryCodes.accountId, accountId)),
      db.insert(recoveryCodes).values(hashes.map((hash) => ({ hash, accountId }))),
      eventStatement(db, { accountId, at, type: 'recovery_codes_made' }),
    ],
  };
}

/** SHA-256 of a code as typed: case, groups and signs that look alike do not matter. */
export function codeHash(typed: string): Promise<string> {
  return sha256(
    typed
      .toUpperCase()
      .replaceAll(/[^0-9A-Z]/g, '')
      .replaceAll('O', '0')
      .replaceAll(/[IL]/g, '1'),
  );
}

/** The account that a code which was not used yet lets in; null for any other code. */
export async function accountOfCode(db: Database, hash: string): Promise<string | null> {
  const [code] = await db
    .select({ accountId: recoveryCodes.accountId })
    .from(recoveryCodes)
    .where(isUnused(hash));
  return code?.accountId ?? null;
}

/** The condition that a code is there and was not used. */
export function isUnused(hash: string) {
  return and(eq(recoveryCodes.hash, hash), isNull(recoveryCodes.usedAt));
}

/**
 * Eight new recovery codes for the caller's account; the old ones are dead. Needs `devices:write`.
 * @throws RegistryError `passkey_required`; `access_denied` for a caller that is no browser: by a code whoever has an API
 * token could make a passkey, and stay when the token ends
 */
export async function makeRecoveryCodes(ctx: Context): Promise<string[]> {
  const { accountId, type } = await ctx.enter();
  ctx.require('devices:write');
  if (type !== 'session')
    throw new RegistryError(
      'access_denied',
      'Recovery codes are shown to a person: sign in with a browser and make them there.',
    );
  ctx.requireFreshPasskey();
  const { codes, statements } = await newCodes(ctx.db, { accountId, at: ctx.now() });
  await ctx.write(statements as [Statement]);
  return codes;
}

function newCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(LENGTH));
  return Array.from(bytes, (byte) => SIGNS[byte % SIGNS.length])
    .join('')
    .replaceAll(GROUP, '$&-');
}
