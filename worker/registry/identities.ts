import { and, eq, inArray, isNull, ne, or, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Identity, IdentityList } from '../../schema/account.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { brokenConstraint, guardBroke } from '../db/client.ts';
import { identities, passkeys, sessions } from '../db/tables/people.ts';
import { guards } from '../db/tables/registry.ts';
import { eventStatement } from './account-events.ts';
import type { Context, Surroundings } from './context.ts';
import { newSession, type Visitor } from './sessions.ts';

const NAME_LENGTH = 100;

/**
 * A login elsewhere, as its issuer has just vouched for it. Issuer and subject are who it is (OpenID Connect Core 1.0
 * section 5.7); the name is for its person to recognise it and may be anybody's.
 */
export const ProvenIdentity = z.object({
  issuer: z.string().min(1).max(2000),
  subject: z.string().min(1).max(255),
  name: z.string().transform((name) => name.slice(0, NAME_LENGTH)),
});
export type ProvenIdentity = z.infer<typeof ProvenIdentity>;

/**
 * Opens a session for whoever an identity is linked to, and gives the cookie's value. It is no passkey check: sensitive
 * acts still ask for one.
 * @throws RegistryError `access_denied` when it is linked to no account; then nothing is written
 */
export async function signInByIdentity(
  { db, now }: Pick<Surroundings, 'db' | 'now'>,
  identity: ProvenIdentity,
  { method, visitor }: { readonly method: 'oidc' | 'access'; readonly visitor: Visitor },
): Promise<string> {
  const [linked] = await db.select({ accountId: identities.accountId }).from(identities).where(is(identity));
  if (!linked) throw notLinked(identity);
  const { accountId } = linked;
  const at = now();
  const { secret, statements } = await newSession(db, at, { accountId, method, visitor, passkey: null });
  const mine = and(is(identity), eq(identities.accountId, accountId));
  try {
    await db.batch([
      db.insert(guards).values({ holds: sql`exists (select 1 from ${identities} where ${mine})` }),
      ...statements,
      db.update(identities).set({ lastUsedAt: at }).where(mine),
      db.delete(guards),
    ]);
  } catch (error) {
    throw guardBroke(error) ? notLinked(identity) : error;
  }
  return secret;
}

function notLinked({ name }: ProvenIdentity): RegistryError {
  return new RegistryError(
    'access_denied',
    `The login ${name} is linked to no account here; sign in with your passkey and link it on the account page, or ask for an invitation.`,
  );
}

/** Identities that open the caller's account. Needs `devices:write`: they say who gets in. */
export async function listIdentities(ctx: Context): Promise<IdentityList> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(identities)
      .where(eq(identities.accountId, ctx.account))
      .orderBy(identities.createdAt, identities.issuer, identities.subject),
  ]);
  ctx.require('devices:write');
  return {
    identities: await Promise.all(
      rows.map(
        async (row): Promise<Identity> => ({
          id: await idOf(row),
          issuer: row.issuer,
          name: row.name,
          created_at: row.createdAt,
          last_used_at: row.lastUsedAt,
        }),
      ),
    ),
  };
}

/**
 * Lets an identity open the caller's account from now on. Repeating it changes nothing.
 * @throws RegistryError `passkey_required`; `conflict` when it opens another account
 */
export async function linkIdentity(ctx: Context, identity: ProvenIdentity): Promise<void> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  ctx.requireFreshPasskey();
  const at = ctx.now();
  try {
    await ctx.write([
      ctx.db.insert(identities).values({ ...identity, accountId, createdAt: at }),
      eventStatement(ctx.db, { accountId, at, type: 'identity_linked', details: facts(identity) }),
    ]);
  } catch (error) {
    if (!brokenConstraint(error)?.startsWith('UNIQUE identities')) throw error;
    const [mine] = await ctx.db
      .select({ one: sql`1` })
      .from(identities)
      .where(and(is(identity), eq(identities.accountId, accountId)));
    if (mine) return;
    throw new RegistryError(
      'conflict',
      `The login ${identity.name} is linked to another account here; unlink it there, or link another one.`,
    );
  }
}

/**
 * Ends that an identity opens the caller's account, and the other sessions that such a login has opened: whoever has it
 * would stay in by them.
 * @throws RegistryError `not_found`, `passkey_required`; `conflict` when it is the last way in
 */
export async function unlinkIdentity(ctx: Context, id: string): Promise<void> {
  const { id: caller, accountId } = await ctx.enter();
  ctx.require('devices:write');
  ctx.requireFreshPasskey();
  const { db } = ctx;
  const at = ctx.now();
  const rows = await db.select().from(identities).where(eq(identities.accountId, accountId));
  const ids = await Promise.all(rows.map(idOf));
  const identity = rows[ids.indexOf(id)];
  if (!identity)
    throw new RegistryError('not_found', `There is no linked login ${id}; list them to see their ids.`);
  const other = or(ne(identities.issuer, identity.issuer), ne(identities.subject, identity.subject));
  const hasPasskey = sql`exists (select 1 from ${passkeys} where ${eq(passkeys.accountId, accountId)})`;
  const hasOther = sql`${accountId} in (select ${identities.accountId} from ${identities} where ${other})`;
  const goes = and(is(identity), eq(identities.accountId, accountId), or(hasPasskey, hasOther));
  const when = sql`exists (select 1 from ${identities} where ${goes})`;
  const opened = and(
    eq(sessions.accountId, accountId),
    inArray(sessions.method, ['oidc', 'access']),
    ne(sessions.id, caller),
    isNull(sessions.revokedAt),
  );
  const [, , unlinked] = await ctx.write([
    eventStatement(db, { accountId, at, type: 'identity_unlinked', details: facts(identity), when }),
    db.update(sessions).set({ revokedAt: at }).where(and(opened, when)),
    db.delete(identities).where(goes).returning({ name: identities.name }),
  ]);
  if (unlinked.length === 0) {
    throw new RegistryError(
      'conflict',
      `The login ${identity.name} is the last way into this account; add a passkey before you unlink it.`,
    );
  }
}

function is({ issuer, subject }: Pick<ProvenIdentity, 'issuer' | 'subject'>) {
  return and(eq(identities.issuer, issuer), eq(identities.subject, subject));
}

/** Names an identity in an address: an issuer is an address itself, and a subject may be anything. */
function idOf({ issuer, subject }: Pick<ProvenIdentity, 'issuer' | 'subject'>): Promise<string> {
  return sha256(`${issuer}\0${subject}`);
}

function facts({ name, issuer }: ProvenIdentity): Record<string, string> {
  return { name, host: new URL(issuer).host };
}
