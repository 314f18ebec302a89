import {
  type AuthProvider,
  type FetchLike,
  OAuthError,
  OAuthErrorCode,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';
import { ServerCredential } from '../../schema/servers.ts';
import type { Context } from '../registry/context.ts';
import type { OpenedServer } from '../registry/riding-source.ts';
import { grantOwner, keepGrant, readGrant } from '../registry/server-grants.ts';
import { credentialOwner } from '../registry/servers.ts';
import type { Vault } from '../registry/vault.ts';
import { type Kept, keptOf } from './kept.ts';
import { type Grant, OAuthClient, type OAuthCredential, renew } from './oauth-client.ts';
import { within } from './outbound.ts';
import type { Target } from './upstream.ts';

/** How an opened server is reached, with its credential. @throws RegistryError `unavailable` when that cannot be read */
export async function targetOf(
  ctx: Context,
  server: OpenedServer,
  { vault, fetch }: { vault: Vault; fetch: FetchLike },
): Promise<Target> {
  const url = new URL(server.upstream);
  const target = { url, fetch, headers: {}, authProvider: undefined };
  const credential = await credentialOf(server, vault);
  switch (credential.type) {
    case 'none':
      return target;
    case 'bearer':
      return { ...target, headers: { authorization: `Bearer ${credential.token}` } };
    case 'header':
      return { ...target, headers: { [credential.name]: credential.value } };
    case 'oauth': {
      return { ...target, authProvider: tokenOf(ctx, server, { credential, vault, fetch }) };
    }
  }
}

export async function credentialOf(server: OpenedServer, vault: Vault): Promise<ServerCredential> {
  if (server.credential === null) return { type: 'none' };
  const opened = await vault.open(server.credential, credentialOwner(server.id));
  return ServerCredential.parse(JSON.parse(opened));
}

export async function openGrant(sealed: string | null, serverId: string, vault: Vault): Promise<Grant> {
  return sealed === null ? {} : (JSON.parse(await vault.open(sealed, grantOwner(serverId))) as Grant);
}

/** Longer than a renewal takes. */
const RENEWAL_MS = 10_000;

interface OAuthWays {
  readonly credential: OAuthCredential;
  readonly vault: Vault;
  readonly fetch: FetchLike;
}

/** The access token of a connected server. One that is refused is renewed, by one request for all of an isolate. */
function tokenOf(ctx: Context, server: OpenedServer, ways: OAuthWays): AuthProvider {
  const kept = keptOf(server);
  let grant: Promise<Grant> | null = null;
  const read = () => {
    grant ??= openGrant(server.grant, server.id, ways.vault);
    return grant;
  };
  return {
    token: async () => (await read()).tokens?.access_token,
    async onUnauthorized() {
      const refused = (await read()).tokens?.access_token;
      if (refused === undefined) throw new UnauthorizedError();
      const { renewal } = kept;
      if (renewal === null || ctx.now() - renewal.since > RENEWAL_MS) {
        begin(kept, ctx, renewed(ctx, server, ways, refused));
      }
      grant = kept.renewal?.grant ?? null;
      await read();
    },
  };
}

function begin(kept: Kept, ctx: Context, grant: Promise<Grant>): void {
  const mine = { since: ctx.now(), grant };
  kept.renewal = mine;
  const end = () => {
    if (kept.renewal === mine) kept.renewal = null;
  };
  // Others may wait for it when the request that began is gone.
  ctx.defer(grant.then(end, end));
}

/** A refresh token may serve only once, so that another isolate's renewal counts as well, before ours and after it. */
async function renewed(
  ctx: Context,
  server: OpenedServer,
  { credential, vault, fetch }: OAuthWays,
  refused: string,
): Promise<Grant> {
  const current = async () => openGrant(await readGrant(ctx, server), server.id, vault);
  const now = await current();
  if (now.tokens?.access_token !== refused) return now;
  // Nobody is sent to a login from here, so it does not matter where one would lead back to.
  const client = new OAuthClient({ origin: 'http://localhost', credential, grant: now });
  try {
    await renew(client, within(RENEWAL_MS / 2, fetch));
  } catch (error) {
    const after = await current();
    if (after.tokens?.access_token !== refused) return after;
    throw notRenewed(server.name, error);
  }
  await keepGrant(ctx, server, await vault.seal(JSON.stringify(now), grantOwner(server.id)), {
    fresh: false,
  });
  return now;
}

function notRenewed(name: string, cause: unknown): Error {
  if (cause instanceof UnauthorizedError) return cause;
  if (cause instanceof OAuthError && cause.code !== OAuthErrorCode.ServerError)
    return new UnauthorizedError();
  return new RegistryError(
    'unavailable',
    `The login of ${name} does not renew its access now; try again later, or connect the server again.`,
    {},
    { cause },
  );
}
