import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import * as oauth from 'oauth4webapi';

/** A client metadata document, as it lies at the client's id. */
export interface ClientDocument {
  readonly client_id: string;
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method?: string;
  readonly token_endpoint_auth_methods_supported?: readonly string[];
  readonly [member: string]: unknown;
}

/** Where the person's registry is, and how an application makes itself known there. */
export interface Registration {
  readonly resource: string;
  readonly callback: string;
  /** Its own document, or what it registers dynamically. */
  readonly by: { document: ClientDocument } | { registration: Partial<oauth.Client> };
}

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  readonly scope: string;
}

// The registry of the tests is on this machine.
const INSECURE = { [oauth.allowInsecureRequests]: true } as const;

/** An application that knows no more than an address of MCP, and follows the standards from there. */
export class Host {
  readonly clientId: string;
  readonly issuer: string;
  readonly #as: oauth.AuthorizationServer;
  readonly #client: oauth.Client;
  readonly #asked: { scope: string; resource: string; callback: string };
  readonly #verifier = oauth.generateRandomCodeVerifier();
  readonly #state = oauth.generateRandomState();

  private constructor(
    as: oauth.AuthorizationServer,
    client: oauth.Client,
    asked: { scope: string; resource: string; callback: string },
  ) {
    this.clientId = client.client_id;
    this.issuer = as.issuer;
    this.#as = as;
    this.#client = client;
    this.#asked = asked;
  }

  /** From the 401 to a client id that the registry knows, or will fetch. */
  static async meet({ resource, callback, by }: Registration): Promise<Host> {
    const { metadata, scope } = await challengeOf(resource);
    const found = await oauth.processResourceDiscoveryResponse(new URL(resource), await fetch(metadata));
    const issuer = new URL(found.authorization_servers?.[0] ?? '');
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE }),
    );
    const client = 'document' in by ? byDocument(as, by.document) : await register(as, by.registration);
    return new Host(as, client, { scope, resource: found.resource, callback });
  }

  /** What the person's browser is sent to. */
  async authorizationUrl(): Promise<URL> {
    const url = new URL(this.#as.authorization_endpoint ?? '');
    const { callback, scope, resource } = this.#asked;
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: callback,
      scope,
      resource,
      state: this.#state,
      code_challenge: await oauth.calculatePKCECodeChallenge(this.#verifier),
      code_challenge_method: 'S256',
    }).toString();
    return url;
  }

  /** @throws oauth.AuthorizationResponseError for what the person refused */
  async redeem(back: URL): Promise<Tokens> {
    const { callback, resource } = this.#asked;
    // It also insists on `iss`, since the metadata promises it.
    const answer = oauth.validateAuthResponse(this.#as, this.#client, back, this.#state);
    const response = await oauth.authorizationCodeGrantRequest(
      this.#as,
      this.#client,
      oauth.None(),
      answer,
      callback,
      this.#verifier,
      { additionalParameters: { resource }, ...INSECURE },
    );
    return tokensOf(await oauth.processAuthorizationCodeResponse(this.#as, this.#client, response));
  }

  /** @throws oauth.ResponseBodyError */
  async refresh({ refresh }: Tokens): Promise<Tokens> {
    const { resource } = this.#asked;
    const response = await oauth.refreshTokenGrantRequest(this.#as, this.#client, oauth.None(), refresh, {
      additionalParameters: { resource },
      ...INSECURE,
    });
    return tokensOf(await oauth.processRefreshTokenResponse(this.#as, this.#client, response));
  }

  async revoke({ refresh }: Tokens): Promise<void> {
    const response = await oauth.revocationRequest(this.#as, this.#client, oauth.None(), refresh, INSECURE);
    await oauth.processRevocationResponse(response);
  }

  /** An MCP session; `name` is the one that the application gives itself. Hosts speak legacy, most of them. */
  async connect(
    { access }: Tokens,
    name: string,
    mode: 'legacy' | { pin: string } = 'legacy',
  ): Promise<Client> {
    const client = new Client({ name, version: '1' }, { versionNegotiation: { mode } });
    const headers = { authorization: `Bearer ${access}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(this.#asked.resource), { requestInit: { headers } }),
    );
    return client;
  }
}

/** A call with a token, or with none. */
export function knock(resource: string, token?: string): Promise<Response> {
  return fetch(resource, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
}

async function challengeOf(resource: string): Promise<{ metadata: string; scope: string }> {
  const { status, headers } = await knock(resource);
  const challenge = headers.get('www-authenticate') ?? '';
  const [, metadata] = /^Bearer .*\bresource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const [, scope] = /\bscope="([^"]+)"/.exec(challenge) ?? [];
  if (status === 401 && metadata !== undefined && scope !== undefined) return { metadata, scope };
  throw new Error(`${resource} answers ${status} with no challenge that says where to sign in: ${challenge}`);
}

/** As claude.ai and ChatGPT decide it: a document serves where the server takes documents, and public clients. */
function byDocument(as: oauth.AuthorizationServer, document: ClientDocument): oauth.Client {
  const { client_id, token_endpoint_auth_method: preferred = 'none' } = document;
  const wanted = [preferred, ...(document.token_endpoint_auth_methods_supported ?? [])];
  const offered = as.token_endpoint_auth_methods_supported ?? [];
  const method = wanted.find((each) => offered.includes(each));
  if (as.client_id_metadata_document_supported !== true || method !== 'none')
    throw new Error(`The server does not take ${client_id} as a public client: it offers ${offered}.`);
  return { client_id };
}

async function register(
  as: oauth.AuthorizationServer,
  registration: Partial<oauth.Client>,
): Promise<oauth.Client> {
  const response = await oauth.dynamicClientRegistrationRequest(as, registration, INSECURE);
  return oauth.processDynamicClientRegistrationResponse(response);
}

function tokensOf({ access_token, refresh_token = '', scope = '' }: oauth.TokenEndpointResponse): Tokens {
  return { access: access_token, refresh: refresh_token, scope };
}
