import { auth } from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';
import type { ServerCredential } from '../../schema/servers.ts';
import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import { type OpenedServer, openServer } from '../registry/riding-source.ts';
import {
  grantOwner,
  keepGrant,
  keepLogin,
  newLogin,
  requireConnecting,
  takeLogin,
} from '../registry/server-grants.ts';
import { noServer } from '../registry/servers.ts';
import { type Grant, OAuthClient } from './oauth-client.ts';
import { createOutbound } from './outbound.ts';
import { credentialOf } from './target.ts';

type Ways = Pick<Deps, 'servers' | 'outbound'>;

/**
 * Begins to connect a server over OAuth: the address where the person lets us in. `origin` is where they come back to.
 * @throws RegistryError `not_found`, `invalid_input`, `unavailable` when the server offers no login that can be used
 */
export async function beginConnect(ctx: Context, deps: Ways, name: string, origin: string): Promise<URL> {
  const server = await openServer(ctx, name);
  requireConnecting(ctx, server);
  const { vault } = deps.servers;
  const state = newLogin();
  // Registered anew: a client that was registered for another address to come back to would be refused.
  const grant: Grant = {};
  const client = new OAuthClient({ origin, credential: await oauthOf(server, deps), grant, state });
  await run(server, deps, client, { forceReauthorization: true });
  if (!client.authorizeUrl) throw unusable(server.name);
  const sealed = await vault.seal(JSON.stringify({ origin, grant }), grantOwner(server.id));
  await keepLogin(ctx, server, { state, sealed });
  return client.authorizeUrl;
}

/**
 * Ends it with what the server's login sent along. Only for the account that was sent there.
 * @throws RegistryError `expired_token`, `access_denied` when the person said no, `unavailable`
 */
export async function finishConnect(ctx: Context, deps: Ways, query: URLSearchParams): Promise<string> {
  const { serverId, name, sealed } = await takeLogin(ctx, query.get('state') ?? '');
  const server = await openServer(ctx, name);
  if (server.id !== serverId) throw noServer(name);
  const code = query.get('code');
  if (code === null) {
    throw new RegistryError(
      'access_denied',
      `The login of ${name} did not let Repertoire in; connect the server again if that was a mistake.`,
    );
  }
  const { vault } = deps.servers;
  const opened = JSON.parse(await vault.open(sealed, grantOwner(serverId)));
  const { origin, grant } = opened as { origin: string; grant: Grant };
  const client = new OAuthClient({ origin, credential: await oauthOf(server, deps), grant });
  const iss = query.get('iss');
  await run(server, deps, client, { authorizationCode: code, ...(iss === null ? {} : { iss }) });
  grant.verifier = undefined;
  await keepGrant(ctx, server, await vault.seal(JSON.stringify(grant), grantOwner(server.id)), {
    fresh: true,
  });
  return name;
}

async function run(
  server: OpenedServer,
  { servers, outbound }: Ways,
  client: OAuthClient,
  options: { forceReauthorization?: boolean; authorizationCode?: string; iss?: string },
): Promise<void> {
  try {
    const serverUrl = new URL(server.upstream);
    await auth(client, { serverUrl, fetchFn: createOutbound(outbound, servers), ...options });
  } catch (error) {
    if (error instanceof RegistryError) throw error;
    throw unusable(server.name, error);
  }
}

async function oauthOf(
  server: OpenedServer,
  { servers }: Ways,
): Promise<Extract<ServerCredential, { type: 'oauth' }>> {
  const credential = await credentialOf(server, servers.vault);
  if (credential.type === 'oauth') return credential;
  throw new RegistryError(
    'conflict',
    `The credential of ${server.name} has changed meanwhile; connect it again.`,
  );
}

/** What it said stays out: it may hold a code or a secret. */
function unusable(name: string, cause?: unknown): RegistryError {
  return new RegistryError(
    'unavailable',
    `The login of ${name} did not work: its authorization server cannot be found, registers no clients, or refuses ours; if it needs one registered beforehand, set client_id in the credential.`,
    {},
    { cause },
  );
}
