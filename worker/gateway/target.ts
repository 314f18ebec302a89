import { type AuthProvider, type FetchLike, UnauthorizedError } from '@modelcontextprotocol/client';
import { ServerCredential } from '../../schema/servers.ts';
import type { Context } from '../registry/context.ts';
import type { OpenedServer } from '../registry/riding-source.ts';
import { grantOwner, keepGrant, readGrant } from '../registry/server-grants.ts';
import { credentialOwner } from '../registry/servers.ts';
import type { Vault } from '../registry/vault.ts';
import { type Grant, OAuthClient, renew } from './oauth-client.ts';
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
      const renewed = (sealed: string) => keepGrant(ctx, server, sealed, { fresh: false });
      const current = () => readGrant(ctx, server);
      return { ...target, authProvider: tokenOf({ server, credential, vault, fetch, renewed, current }) };
    }
  }
}

export async function credentialOf(server: OpenedServer, vault: Vault): Promise<ServerCredential> {
  if (server.credential === null) return { type: 'none' };
  const opened = await vault.open(server.credential, credentialOwner(server.id));
  return ServerCredential.parse(JSON.parse(opened));
}

async function openGrant(sealed: string | null, serverId: string, vault: Vault): Promise<Grant> {
  return sealed === null ? {} : (JSON.parse(await vault.open(sealed, grantOwner(serverId))) as Grant);
}

/**
 * The access token of a connected server. One that is refused is renewed, unless another request has done so meanwhile:
 * a refresh token may serve only once.
 */
function tokenOf({
  server,
  credential,
  vault,
  fetch,
  renewed,
  current,
}: {
  server: OpenedServer;
  credential: Extract<ServerCredential, { type: 'oauth' }>;
  vault: Vault;
  fetch: FetchLike;
  renewed: (sealed: string) => Promise<void>;
  current: () => Promise<string | null>;
}): AuthProvider {
  let grant: Promise<Grant> | null = null;
  const read = () => {
    grant ??= openGrant(server.grant, server.id, vault);
    return grant;
  };
  return {
    token: async () => (await read()).tokens?.access_token,
    async onUnauthorized({ serverUrl }) {
      const refused = (await read()).tokens?.access_token;
      if (refused === undefined) throw new UnauthorizedError();
      const now = await openGrant(await current(), server.id, vault);
      grant = Promise.resolve(now);
      if (now.tokens?.access_token !== refused) return;
      // Nobody is sent to a login from here, so it does not matter where one would lead back to.
      const client = new OAuthClient({ origin: 'http://localhost', credential, grant: now });
      await renew(client, new URL(serverUrl), fetch);
      await renewed(await vault.seal(JSON.stringify(now), grantOwner(server.id)));
    },
  };
}
