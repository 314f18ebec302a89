import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

export const NAME = 'A program with an SDK';
export const CALLBACK = 'http://127.0.0.1:43117/callback';
export const DOCUMENT = {
  client_id: 'https://program.example/oauth/client.json',
  client_name: NAME,
  redirect_uris: ['http://127.0.0.1/callback'],
  token_endpoint_auth_method: 'none',
};

/** What a program keeps for the official MCP client, which does the rest by itself. */
export class SdkProvider implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: NAME,
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
  };
  readonly clientMetadataUrl?: string;
  #information: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';
  #asked: URL | undefined;

  constructor({ byDocument }: { byDocument: boolean }) {
    if (byDocument) this.clientMetadataUrl = DOCUMENT.client_id;
  }

  /** Where the client wants its person to go; undefined when it wants nothing more since the last time. */
  takeAsked(): URL | undefined {
    const asked = this.#asked;
    this.#asked = undefined;
    return asked;
  }

  /** As if the access token had reached its end. */
  spoilAccess(): void {
    if (this.#tokens) this.#tokens = { ...this.#tokens, access_token: 'too old' };
  }

  state(): string {
    return 'a state';
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#information;
  }

  saveClientInformation(information: StoredOAuthClientInformation): void {
    this.#information = information;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  redirectToAuthorization(address: URL): void {
    this.#asked = address;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.#information = undefined;
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined;
  }
}
