import { and, eq, gt, isNull, lte, type SQL, sql } from 'drizzle-orm';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { serverLogins, servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { newSecret } from './random.ts';
import type { OpenedServer } from './riding-source.ts';
import { noServer } from './servers.ts';

/** For so long a person may take to sign in elsewhere. */
const LOGIN_MS = 10 * 60_000;

/** Lets the caller connect a server over OAuth: by `skills:write`, in a session with a passkey that was checked minutes ago. */
export function requireConnecting(ctx: Context, { name, credentialType }: OpenedServer): void {
  ctx.require('skills:write');
  ctx.requireFreshPasskey();
  if (credentialType === 'oauth') return;
  throw new RegistryError(
    'invalid_input',
    `The credential of ${name} is not OAuth; set it to {"type": "oauth"} first.`,
    { field: 'credential' },
  );
}

/** A secret that names one person's way to a server's login and back. */
export function newLogin(): string {
  return newSecret();
}

/** Keeps what the way back needs, `sealed`, under the `state` that goes along. */
export async function keepLogin(
  ctx: Context,
  server: OpenedServer,
  { state, sealed }: { state: string; sealed: string },
): Promise<void> {
  const now = ctx.now();
  await ctx.write([
    ctx.db.delete(serverLogins).where(lte(serverLogins.expiresAt, now)),
    ctx.db.insert(serverLogins).values({
      hash: await sha256(state),
      serverId: server.id,
      accountId: ctx.actor.accountId,
      data: sealed,
      expiresAt: now + LOGIN_MS,
    }),
  ]);
}

/**
 * Takes out what was kept, so that it serves once, and only the account that was sent away: nobody else's login may end
 * up with its server. @throws RegistryError `expired_token`
 */
export async function takeLogin(
  ctx: Context,
  state: string,
): Promise<{ serverId: string; name: string; sealed: string }> {
  await ctx.enter();
  ctx.require('skills:write');
  const [row] = await ctx.db
    .delete(serverLogins)
    .where(
      and(
        eq(serverLogins.hash, await sha256(state)),
        eq(serverLogins.accountId, ctx.actor.accountId),
        gt(serverLogins.expiresAt, ctx.now()),
      ),
    )
    .returning({ serverId: serverLogins.serverId, data: serverLogins.data });
  if (!row) {
    throw new RegistryError(
      'expired_token',
      'This login was begun too long ago, by somebody else, or is over already; connect the server again.',
    );
  }
  const [server] = await ctx.db
    .select({ name: servers.name })
    .from(servers)
    .where(eq(servers.id, row.serverId));
  if (!server) throw noServer('that was to be connected');
  return { serverId: row.serverId, name: server.name, sealed: row.data };
}

/**
 * Keeps what a server granted, unless its address or its credential has changed meanwhile: tokens are for one place.
 * `fresh`: the person has just connected it, so all that is known of it begins anew.
 */
export async function keepGrant(
  ctx: Context,
  server: OpenedServer,
  sealed: string,
  { fresh }: { fresh: boolean },
): Promise<void> {
  await ctx.db
    .update(servers)
    .set({ grant: sealed, ...(fresh ? { version: sql`${servers.version} + 1` } : {}) })
    .where(unmoved(server));
}

/** What is kept of a server's grant now: another request may have renewed it. */
export async function readGrant(ctx: Context, server: OpenedServer): Promise<string | null> {
  const [row] = await ctx.db.select({ grant: servers.grant }).from(servers).where(unmoved(server));
  return row?.grant ?? null;
}

/** The row as long as it is for the same place: a credential that is set again is sealed anew, whatever it says. */
function unmoved({ id, upstream, credential }: OpenedServer): SQL | undefined {
  const same = credential === null ? isNull(servers.credential) : eq(servers.credential, credential);
  return and(eq(servers.id, id), eq(servers.upstream, upstream), same);
}

/** What a grant is sealed for: it opens for this server only. */
export function grantOwner(serverId: string): string {
  return `server ${serverId} grant`;
}
