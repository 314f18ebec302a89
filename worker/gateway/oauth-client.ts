import {
  type FetchLike,
  fetchToken,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  refreshAuthorization,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { ServerCredential } from '../../schema/servers.ts';

/** What is kept of us as a server's OAuth client. Holds secrets: it is sealed wherever it is kept. */
export interface Grant {
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
  discovery?: OAuthDiscoveryState | undefined;
  /** Only while a person is at the login. */
  verifier?: string | undefined;
}

/** Where a server's login sends people back to, and where our metadata as a client is. */
export const CALLBACK_PATH = '/servers/callback';
export const CLIENT_PATH = '/servers/client.json';

/** Our metadata as an OAuth client (RFC 7591 section 2). */
export function clientMetadata(origin: string): OAuthClientMetadata {
  return {
    client_name: 'Repertoire',
    client_uri: origin,
    redirect_uris: [origin + CALLBACK_PATH],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

export type OAuthCredential = Extract<ServerCredential, { type: 'oauth' }>;

/**
 * Repertoire as the OAuth client of a server. The SDK finds the authorization server, registers (beforehand, by a
 * metadata document, or dynamically), proves with PKCE and checks the issuer; here is what it keeps.
 */
export class OAuthClient implements OAuthClientProvider {
  readonly #origin: string;
  readonly #credential: OAuthCredential;
  readonly #state: string;
  readonly grant: Grant;
  /** Where the person has to go; null until that is known. */
  authorizeUrl: URL | null = null;

  constructor({
    origin,
    credential,
    grant,
    state = '',
  }: {
    origin: string;
    credential: OAuthCredential;
    grant: Grant;
    state?: string;
  }) {
    this.#origin = origin;
    this.#credential = credential;
    this.#state = state;
    this.grant = grant;
  }

  get redirectUrl(): string {
    return this.#origin + CALLBACK_PATH;
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scope } = this.#credential;
    return { ...clientMetadata(this.#origin), ...(scope === undefined ? {} : { scope }) };
  }

  /** Nobody could fetch the document of a registry on a person's own machine. */
  get clientMetadataUrl(): string {
    return this.#origin.startsWith('https:') ? this.#origin + CLIENT_PATH : '';
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { client_id, client_secret } = this.#credential;
    if (client_id === undefined) return this.grant.client;
    const issuer = issuerOfGrant(this.grant);
    return {
      client_id,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(issuer === null ? {} : { issuer }),
    };
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.grant.client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.grant.tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.grant.tokens = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizeUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.grant.verifier = verifier;
  }

  codeVerifier(): string {
    return this.grant.verifier ?? '';
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.grant.discovery = discovery;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.grant.discovery;
  }

  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (what === 'all' || what === 'client') this.grant.client = undefined;
    if (what === 'all' || what === 'tokens') this.grant.tokens = undefined;
    if (what === 'all' || what === 'verifier') this.grant.verifier = undefined;
    if (what === 'all' || what === 'discovery') this.grant.discovery = undefined;
  }
}

/** Which authorization server a grant is of; null before that is known. */
export function issuerOfGrant({ discovery }: Grant): string | null {
  return discovery
    ? (discovery.authorizationServerMetadata?.issuer ?? discovery.authorizationServerUrl)
    : null;
}

/**
 * Trades the code that the person came back with for tokens, once, where the person was sent to and nowhere else. Not by
 * the SDK's `auth`, which tries again and writes what it was answered into the log.
 */
export async function redeem(
  client: OAuthClient,
  { code, iss }: { code: string; iss: string | null },
  fetchFn: FetchLike,
): Promise<void> {
  const { discovery } = client.grant;
  const issuer = issuerOfGrant(client.grant);
  if (!discovery || issuer === null) throw new UnauthorizedError();
  const tokens = await fetchToken(client, discovery.authorizationServerUrl, {
    ...knownOf(discovery),
    authorizationCode: code,
    ...(iss === null ? {} : { iss }),
    fetchFn,
  });
  client.saveTokens({ ...tokens, issuer });
}

/** Renews the tokens where they are from. @throws UnauthorizedError when only the person can */
export async function renew(client: OAuthClient, fetchFn: FetchLike): Promise<void> {
  const { discovery, tokens } = client.grant;
  const clientInformation = client.clientInformation();
  const issuer = issuerOfGrant(client.grant);
  if (!discovery || issuer === null || !clientInformation || !tokens?.refresh_token)
    throw new UnauthorizedError();
  const renewed = await refreshAuthorization(discovery.authorizationServerUrl, {
    ...knownOf(discovery),
    clientInformation,
    refreshToken: tokens.refresh_token,
    fetchFn,
  });
  client.saveTokens({ ...tokens, ...renewed, issuer });
}

function knownOf({ authorizationServerMetadata: metadata, resourceMetadata }: OAuthDiscoveryState) {
  return {
    ...(metadata ? { metadata } : {}),
    ...(resourceMetadata ? { resource: resourceMetadata.resource } : {}),
  };
}
