import {
  auth,
  type FetchLike,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
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

type OAuthCredential = Extract<ServerCredential, { type: 'oauth' }>;

/**
 * Repertoire as the OAuth client of a server. The SDK finds the authorization server, registers (beforehand, by a
 * metadata document, or dynamically), proves with PKCE, checks the issuer and renews tokens; here is what it keeps.
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
    return { client_id, ...(client_secret === undefined ? {} : { client_secret }) };
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

/** Renews the tokens with the refresh token. @throws UnauthorizedError when only the person can */
export async function renew(client: OAuthClient, serverUrl: URL, fetchFn: FetchLike): Promise<void> {
  if ((await auth(client, { serverUrl, fetchFn })) !== 'AUTHORIZED') throw new UnauthorizedError();
}
