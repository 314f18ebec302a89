import { and, eq, isNull, ne, sql } from 'drizzle-orm';
import type { Passkey, PasskeyList } from '../../schema/account.ts';
import { RegistryError } from '../../schema/errors.ts';
import { brokenConstraint, type Database, guardBroke, type Statement } from '../db/client.ts';
import { passkeys, recoveryCodes, sessions } from '../db/tables/people.ts';
import { accounts, guards } from '../db/tables/registry.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { labelOf } from './label.ts';

/** So long after signing in with a recovery code a person can replace the passkey that is lost. */
const RECOVERY_MS = 60 * 60_000;

export interface KnownPasskey {
  readonly id: string;
  readonly transports: readonly string[];
}

/** A passkey whose making was judged and holds. */
export interface NewPasskey extends KnownPasskey {
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly synced: boolean;
}

export interface StoredPasskey {
  readonly id: string;
  readonly accountId: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly counter: number;
}

/** A signature that was judged and holds. */
export interface PasskeyUse {
  readonly passkey: StoredPasskey;
  readonly counter: number;
  readonly synced: boolean;
}

/** The passkey that signs; null when there is none of this id. */
export async function findPasskey(db: Database, id: string): Promise<StoredPasskey | null> {
  const [row] = await db
    .select({
      id: passkeys.id,
      accountId: passkeys.accountId,
      publicKey: passkeys.publicKey,
      counter: passkeys.counter,
    })
    .from(passkeys)
    .where(eq(passkeys.id, id));
  return row ? { ...row, publicKey: new Uint8Array(row.publicKey) } : null;
}

export function knownPasskeys(db: Database, accountId: string) {
  return db
    .select({ id: passkeys.id, transports: passkeys.transports })
    .from(passkeys)
    .where(eq(passkeys.accountId, accountId));
}

/** The statements that give an account a passkey. */
export function passkeyStatements(
  db: Database,
  { accountId, name, at, passkey }: { accountId: string; name: string; at: number; passkey: NewPasskey },
): Statement[] {
  const { transports, ...kept } = passkey;
  return [
    db
      .insert(passkeys)
      .values({ ...kept, transports: [...transports], accountId, name, createdAt: at, lastUsedAt: at }),
    eventStatement(db, { accountId, at, type: 'passkey_added', details: { name } }),
  ];
}

/**
 * The statements that note a use. They abort their batch when the passkey is gone, or when its counter in the database
 * is not below the one that was signed: so of two uses at once none goes by an old count.
 */
export function useStatements(
  db: Database,
  at: number,
  { passkey, counter, synced }: PasskeyUse,
): Statement[] {
  const mine = and(eq(passkeys.id, passkey.id), eq(passkeys.accountId, passkey.accountId));
  const rises = sql`(${passkeys.counter} < ${counter} or (${passkeys.counter} = 0 and ${counter} = 0))`;
  return [
    db.insert(guards).values({ holds: sql`exists (select 1 from ${passkeys} where ${and(mine, rises)})` }),
    db.delete(guards),
    db.update(passkeys).set({ counter, synced, lastUsedAt: at }).where(mine),
  ];
}

/** The caller's passkeys, oldest first, and how many recovery codes are left. Needs `devices:write`: they say who gets in. */
export async function listPasskeys(ctx: Context): Promise<PasskeyList> {
  const [rows, [codes]] = await ctx.batch([
    ctx.db
      .select()
      .from(passkeys)
      .where(eq(passkeys.accountId, ctx.account))
      .orderBy(passkeys.createdAt, passkeys.id),
    ctx.db
      .select({ left: sql<number>`count(*)` })
      .from(recoveryCodes)
      .where(and(eq(recoveryCodes.accountId, ctx.account), isNull(recoveryCodes.usedAt))),
  ]);
  ctx.require('devices:write');
  return { passkeys: rows.map(describe), recovery_codes_left: codes?.left ?? 0 };
}

/**
 * Whether the caller may add a passkey: a session with a fresh passkey check, or one that an hour ago at most was opened
 * with a recovery code, or any while the account has no passkey. Gives what the browser is to be asked with.
 * @throws RegistryError `access_denied` for a caller that is no browser, `passkey_required`
 */
export async function mayAddPasskey(
  ctx: Context,
): Promise<{ account: { id: string; name: string }; known: readonly KnownPasskey[] }> {
  const { accountId, type, id } = await ctx.enter();
  ctx.require('devices:write');
  if (type !== 'session')
    throw new RegistryError('access_denied', 'A passkey is made by a browser: sign in and add it there.');
  const [[account], known, [session]] = await ctx.batch([
    ctx.db.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, accountId)),
    knownPasskeys(ctx.db, accountId),
    ctx.db
      .select({ method: sessions.method, createdAt: sessions.createdAt })
      .from(sessions)
      .where(eq(sessions.id, id)),
  ]);
  const recovers = session?.method === 'recovery' && ctx.now() - session.createdAt < RECOVERY_MS;
  if (known.length > 0 && !recovers) ctx.requireFreshPasskey();
  return { account: { id: accountId, name: account?.name ?? '' }, known };
}

/**
 * Adds a passkey to the caller's account. Making it was a check of its person, so the session is fresh from now on.
 * @throws RegistryError as {@link mayAddPasskey}, and `conflict` for one that is registered already
 */
export async function addPasskey(ctx: Context, passkey: NewPasskey, called: string): Promise<Passkey> {
  await mayAddPasskey(ctx);
  const name = labelOf(called, 'name');
  const { accountId, id: session } = ctx.actor;
  const at = ctx.now();
  try {
    await ctx.write([
      ctx.db.update(sessions).set({ verifiedAt: at }).where(eq(sessions.id, session)),
      ...passkeyStatements(ctx.db, { accountId, name, at, passkey }),
    ]);
  } catch (error) {
    throw passkeyError(error);
  }
  return { id: passkey.id, name, synced: passkey.synced, created_at: at, last_used_at: at };
}

/** The refusal that a failed batch with {@link passkeyStatements} stands for; any other error as it is. */
export function passkeyError(error: unknown): unknown {
  if (!brokenConstraint(error)?.startsWith('UNIQUE passkeys.')) return error;
  return new RegistryError('conflict', 'This passkey is registered here already; sign in with it.');
}

/** Gives a passkey of the caller's account another name. Needs `devices:write`. */
export async function renamePasskey(ctx: Context, id: string, called: string): Promise<Passkey> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  ctx.requireFreshPasskey();
  const [[renamed]] = await ctx.write([
    ctx.db
      .update(passkeys)
      .set({ name: labelOf(called, 'name') })
      .where(and(eq(passkeys.accountId, accountId), eq(passkeys.id, id)))
      .returning(),
  ]);
  if (!renamed) throw notFound(id);
  return describe(renamed);
}

/**
 * Takes a passkey out of the caller's account; the last one stays. Whoever has it gets nothing more by it: the other
 * sessions that it opened end, and no other session is fresh any longer.
 * @throws RegistryError `not_found`, `passkey_required`, `conflict` for the last one
 */
export async function removePasskey(ctx: Context, id: string): Promise<void> {
  const { accountId, id: caller } = await ctx.enter();
  ctx.require('devices:write');
  const { db } = ctx;
  const at = ctx.now();
  const mine = and(eq(passkeys.accountId, accountId), eq(passkeys.id, id));
  const [known] = await db.select({ name: passkeys.name }).from(passkeys).where(mine);
  if (!known) throw notFound(id);
  ctx.requireFreshPasskey();
  const elsewhere = and(eq(sessions.accountId, accountId), ne(sessions.id, caller));
  const others = sql`(select count(*) from ${passkeys} where ${eq(passkeys.accountId, accountId)}) > 1`;
  try {
    await ctx.write([
      // Counted in the batch that removes, or of two removals at once each would find the other's.
      db.insert(guards).values({ holds: others }),
      eventStatement(db, {
        accountId,
        at,
        type: 'passkey_removed',
        details: { name: known.name },
        when: sql`exists (select 1 from ${passkeys} where ${mine})`,
      }),
      db.delete(passkeys).where(mine),
      db.update(sessions).set({ verifiedAt: null }).where(elsewhere),
      db
        .update(sessions)
        .set({ revokedAt: at })
        .where(and(elsewhere, eq(sessions.passkeyId, id), isNull(sessions.revokedAt))),
    ]);
  } catch (error) {
    if (!guardBroke(error)) throw error;
    throw new RegistryError(
      'conflict',
      `${known.name} is the last passkey of your account, so it stays; add another one before you remove it.`,
    );
  }
}

function notFound(id: string): RegistryError {
  return new RegistryError('not_found', `There is no passkey ${id}; list the passkeys to see their ids.`);
}

function describe(row: typeof passkeys.$inferSelect): Passkey {
  return {
    id: row.id,
    name: row.name,
    synced: row.synced,
    created_at: row.createdAt,
    last_used_at: row.lastUsedAt,
  };
}
