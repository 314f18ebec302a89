import { and, eq, isNull, sql } from 'drizzle-orm';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { type Database, guardBroke, type Statement } from '../db/client.ts';
import { identities, links, passkeys } from '../db/tables/people.ts';
import { accounts, guards } from '../db/tables/registry.ts';
import { eventStatement } from './account-events.ts';
import type { Surroundings } from './context.ts';
import { labelOf } from './label.ts';
import {
  type KnownPasskey,
  knownPasskeys,
  type NewPasskey,
  passkeyError,
  passkeyStatements,
} from './passkeys.ts';
import { newId, newSecret } from './random.ts';
import { newCodes } from './recovery-codes.ts';
import { newSession, type Visitor } from './sessions.ts';

/** So long a link lives, milliseconds. */
export const LINK_LIFE_MS = 60 * 60_000;

export interface OpenLink {
  /** SHA-256 of the token. */
  readonly hash: string;
  readonly type: (typeof links.$inferSelect)['type'];
  /** Account that the passkey is for: of an invitation one that is made with it. */
  readonly account: { readonly id: string; readonly name: string };
  readonly known: readonly KnownPasskey[];
}

/**
 * The token of a link that makes whoever opens it the owner; null when there is one: an account with a passkey or a
 * linked login. Owner links that were not used are dead.
 */
export async function makeOwnerLink(db: Database, now: number): Promise<string | null> {
  if (await hasOwner(db)) return null;
  const [first] = await db
    .select({ id: accounts.id })
    .from(accounts)
    .orderBy(accounts.createdAt, accounts.id)
    .limit(1);
  if (!first) throw new RegistryError('internal', 'There is no account that the owner link could be for.');
  return keepLink(db, now, { type: 'owner', accountId: first.id });
}

/** Whether somebody has a way in of their own. */
export async function hasOwner(db: Database): Promise<boolean> {
  const free = await db.select({ one: sql`1` }).from(sql`(select 1)`).where(hasNoOwner());
  return free.length === 0;
}

/** Where a link's token is taken to. In the fragment it reaches no server, so no log. */
export function setupLink(origin: string, token: string): string {
  return `${origin}/setup#${token}`;
}

/**
 * The token of a link that adds a passkey to an account without signing in: for whoever has the database's keys. Older
 * ones are dead.
 */
export function makeRecoveryLink(db: Database, now: number, accountId: string): Promise<string> {
  return keepLink(db, now, { type: 'recovery', accountId });
}

async function keepLink(
  db: Database,
  now: number,
  { type, accountId }: { type: 'owner' | 'recovery'; accountId: string },
): Promise<string> {
  const token = newSecret();
  await db.batch([
    db.delete(links).where(and(eq(links.type, type), eq(links.accountId, accountId), isNull(links.usedAt))),
    db
      .insert(links)
      .values({ hash: await sha256(token), type, accountId, createdAt: now, expiresAt: now + LINK_LIFE_MS }),
  ]);
  return token;
}

/** What a link is good for. It is not used up by looking. @throws RegistryError `expired_token` saying why it is dead */
export async function openLink({ db, now }: Surroundings, token: string): Promise<OpenLink> {
  const hash = await sha256(token);
  const [[link], [free]] = await db.batch([
    db
      .select({ link: links, account: accounts.name })
      .from(links)
      .leftJoin(accounts, eq(accounts.id, links.accountId))
      .where(eq(links.hash, hash)),
    db.select({ one: sql`1` }).from(sql`(select 1)`).where(hasNoOwner()),
  ]);
  if (!link) throw dead('is not known here, was taken back, or was replaced by a newer one');
  const { type, accountId, usedAt, expiresAt, name } = link.link;
  if (usedAt !== null) throw dead('was used already');
  if (expiresAt <= now()) throw dead('is older than an hour');
  if (type === 'owner' && !free) throw dead('is dead, since this registry has an owner; sign in instead');
  if (accountId === null) return { hash, type, account: { id: newId(), name }, known: [] };
  return {
    hash,
    type,
    account: { id: accountId, name: link.account ?? name },
    known: await knownPasskeys(db, accountId),
  };
}

interface Redemption {
  readonly token: string;
  /** What the passkey was asked for: SHA-256 of a link's token, and the account, which an invitation is yet to make. */
  readonly asked: { readonly link: string; readonly accountId: string };
  /** Null leaves the name that the account, or the invitation, has. */
  readonly accountName: string | null;
  readonly passkey: NewPasskey;
  readonly passkeyName: string;
  readonly visitor: Visitor;
}

/**
 * Uses a link up: passkey, recovery codes and session come with it, or nothing does. Gives the cookie's value and the codes.
 * @throws RegistryError `expired_token` when the link died in the meantime
 */
export async function redeemLink(
  around: Surroundings,
  use: Redemption,
): Promise<{ secret: string; codes: readonly string[] }> {
  const { db } = around;
  const at = around.now();
  const { hash, type, account } = await openLink(around, use.token);
  const { asked, passkey, visitor } = use;
  if (asked.link !== hash) throw dead('is not the one that this passkey was made for');
  const { accountId } = asked;
  const accountName = use.accountName === null ? null : labelOf(use.accountName, 'account_name');
  const name = labelOf(use.passkeyName, 'passkey_name');
  const alive = and(
    eq(links.hash, hash),
    isNull(links.usedAt),
    sql`${links.expiresAt} > ${at}`,
    sql`(${links.type} <> 'owner' or ${hasNoOwner()})`,
  );
  const { codes, statements: codeStatements } = await newCodes(db, { accountId, at });
  const session = await newSession(db, at, { accountId, method: 'passkey', visitor, passkey: passkey.id });
  const { browser, place } = visitor;
  try {
    await db.batch([
      db.insert(guards).values({ holds: sql`exists (select 1 from ${links} where ${alive})` }),
      db.delete(guards),
      db.update(links).set({ usedAt: at }).where(eq(links.hash, hash)),
      ...accountStatements(db, at, { type, accountId, name: accountName ?? account.name }),
      ...(type === 'invitation'
        ? []
        : [
            eventStatement(db, {
              accountId,
              at,
              type: type === 'owner' ? 'owner_made' : 'recovery_link_used',
              details: { browser, place },
            }),
          ]),
      ...passkeyStatements(db, { accountId, name, at, passkey }),
      ...codeStatements,
      ...session.statements,
    ]);
  } catch (error) {
    if (!guardBroke(error)) throw passkeyError(error);
    await openLink(around, use.token);
    throw error;
  }
  return { secret: session.secret, codes };
}

function accountStatements(
  db: Database,
  at: number,
  { type, accountId, name }: { type: OpenLink['type']; accountId: string; name: string },
): Statement[] {
  if (type !== 'invitation') return [db.update(accounts).set({ name }).where(eq(accounts.id, accountId))];
  return [db.insert(accounts).values({ id: accountId, name, epoch: newId().slice(0, 12), createdAt: at })];
}

function hasNoOwner() {
  return sql`(not exists (select 1 from ${passkeys}) and not exists (select 1 from ${identities}))`;
}

function dead(why: string): RegistryError {
  return new RegistryError(
    'expired_token',
    `This link ${why}. Links work once, within an hour; ask for a new one.`,
  );
}
