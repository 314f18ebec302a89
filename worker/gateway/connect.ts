import { auth, type FetchLike } from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';
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
import { type Grant, issuerOfGrant, OAuthClient, type OAuthCredential, redeem } from './oauth-client.ts';
import { createOutbound, within } from './outbound.ts';
import { credentialOf, openGrant } from './target.ts';

type Ways = Pick<Deps, 'servers' | 'outbound'>;

/** A person waits for it. */
const DEADLINE_MS = 15_000;
/** What a login tells of itself is kept with every grant. */
const GRANT_CHARS = 64 * 1024;

/** What the way back needs. */
interface Login {
  readonly origin: string;
  /** Of the server: an answer to what it was before is none. */
  readonly version: number;
  readonly grant: Grant;
}

/**
 * Begins to connect a server over OAuth: the address where the person lets us in. `origin` is where they come back to.
 * @throws RegistryError `not_found`, `invalid_input`, `unavailable` when the server offers no login that can be used
 */
export async function beginConnect(ctx: Context, deps: Ways, name: string, origin: string): Promise<URL> {
  const server = await openServer(ctx, name, { tells: false, held: null });
  requireConnecting(ctx, server);
  const { vault } = deps.servers;
  const state = newLogin();
  // Registered anew: a client that was registered for another address to come back to would be refused.
  const grant: Grant = {};
  const credential = await oauthOf(server, deps);
  const client = new OAuthClient({ origin, credential, grant, state });
  await run(server, deps, (fetchFn) =>
    auth(client, { serverUrl: new URL(server.upstream), fetchFn, forceReauthorization: true }),
  );
  if (!client.authorizeUrl) throw unusable(server.name);
  if (credential.client_secret !== undefined) {
    const before = issuerOfGrant(await openGrant(server.grant, server.id, vault));
    if (before !== null && before !== issuerOfGrant(grant)) throw elsewhere(server.name, before);
  }
  const login: Login = { origin, version: server.version, grant };
  const text = JSON.stringify(login);
  if (text.length > GRANT_CHARS) throw unusable(server.name);
  const sealed = await vault.seal(text, grantOwner(server.id));
  await keepLogin(ctx, server, { state, sealed });
  return client.authorizeUrl;
}

/**
 * Ends it with what the server's login sent along. Only for the account that was sent there.
 * @throws RegistryError `expired_token`, `access_denied` when the person said no, `unavailable`
 */
export async function finishConnect(ctx: Context, deps: Ways, query: URLSearchParams): Promise<string> {
  const { serverId, name, sealed } = await takeLogin(ctx, query.get('state') ?? '');
  const server = await openServer(ctx, name, { tells: false, held: null });
  if (server.id !== serverId) throw noServer(name);
  const { vault } = deps.servers;
  const login: Login = JSON.parse(await vault.open(sealed, grantOwner(serverId)));
  if (server.version !== login.version) throw changed(name);
  const code = query.get('code');
  if (code === null) {
    throw new RegistryError(
      'access_denied',
      `The login of ${name} did not let Repertoire in; connect the server again if that was a mistake.`,
    );
  }
  const { origin, grant } = login;
  const client = new OAuthClient({ origin, credential: await oauthOf(server, deps), grant });
  await run(server, deps, (fetchFn) => redeem(client, { code, iss: query.get('iss') }, fetchFn));
  grant.verifier = undefined;
  const text = JSON.stringify(grant);
  if (text.length > GRANT_CHARS) throw unusable(name);
  await keepGrant(ctx, server, await vault.seal(text, grantOwner(server.id)), { fresh: true });
  return name;
}

async function run(
  server: OpenedServer,
  { servers, outbound }: Ways,
  step: (fetchFn: FetchLike) => Promise<unknown>,
): Promise<void> {
  try {
    await step(within(DEADLINE_MS, createOutbound(outbound, servers)));
  } catch (error) {
    if (error instanceof RegistryError) throw error;
    throw unusable(server.name, error);
  }
}

async function oauthOf(server: OpenedServer, { servers }: Ways): Promise<OAuthCredential> {
  const credential = await credentialOf(server, servers.vault);
  if (credential.type === 'oauth') return credential;
  throw changed(server.name);
}

function changed(name: string): RegistryError {
  return new RegistryError('conflict', `The server ${name} was changed meanwhile; connect it again.`);
}

/** The secret of a client that was registered beforehand is for one authorization server. */
function elsewhere(name: string, before: string): RegistryError {
  return new RegistryError(
    'conflict',
    `The server ${name} now sends people to another login than ${before}, which the client_secret is for; set the credential again if that is right.`,
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
