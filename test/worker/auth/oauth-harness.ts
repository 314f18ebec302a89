import { afterEach, vi } from 'vitest';
import type { AccountEvent } from '../../../schema/account.ts';
import { sha256 } from '../../../schema/digest.ts';
import { listEvents } from '../../../worker/registry/account-events.ts';
import { Context } from '../../../worker/registry/context.ts';
import { newSecret } from '../../../worker/registry/random.ts';
import { type Answer, type Call, ORIGIN, openTestApi } from '../api/harness.ts';
import { headersOf, MODERN } from '../mcp/harness.ts';
import { type SignedIn, signedIn } from './signed-in.ts';

export const RESOURCE = `${ORIGIN}/mcp`;
export const CALLBACK = 'https://claude.ai/api/mcp/auth_callback';
const BOTH = 'skills:read skills:write';

export interface Client {
  readonly id: string;
  readonly secret?: string;
  readonly redirect: string;
}

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
}

export type TestOAuth = Awaited<ReturnType<typeof openTestOAuth>>;

afterEach(() => void vi.useRealTimers());

/** The registry with a person who is signed in, and what an OAuth client does to it. The library's clock is the registry's. */
export async function openTestOAuth(options: Parameters<typeof openTestApi>[0] = {}) {
  const api = await openTestApi(options);
  vi.useFakeTimers({ toFake: ['Date'], now: api.clock.now });
  const browser = await signedIn(api);
  const person = { ...browser, hash: await sha256(browser.secret) };

  function pass(ms: number): void {
    api.clock.now += ms;
    vi.setSystemTime(api.clock.now);
  }

  function post(path: string, form: Record<string, string | undefined>, call: Call = {}): Promise<Answer> {
    return api.call(path, {
      method: 'POST',
      body: formOf(form),
      ...call,
      headers: { ...FORM, ...call.headers },
    });
  }

  async function register(metadata: Record<string, unknown> = {}): Promise<Client> {
    const redirects = (metadata.redirect_uris ?? [CALLBACK]) as string[];
    const { status, json, text } = await api.call('/register', {
      method: 'POST',
      body: {
        client_name: 'Claude',
        redirect_uris: redirects,
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        ...metadata,
      },
      headers: { 'content-type': 'application/json' },
    });
    if (status !== 201) throw new Error(`/register answered ${status}: ${text}`);
    const secret = json.client_secret === undefined ? {} : { secret: json.client_secret };
    return { id: json.client_id, redirect: redirects[0] as string, ...secret };
  }

  /** Opens the consent page. */
  async function ask(client: Client, query: Record<string, string | undefined> = {}, who: SignedIn = person) {
    const verifier = newSecret();
    const parameters = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: client.redirect,
      scope: BOTH,
      state: 'a state',
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
      resource: RESOURCE,
      ...query,
    };
    const page = await api.call(`/authorize?${formOf(parameters)}`, {
      headers: { cookie: who.headers.cookie },
    });
    return { page, verifier, handle: handleIn(page), cookie: cookiesOf(who, page) };
  }

  /** Posts the consent form as the browser of `cookie`. */
  function decide(
    { handle, cookie }: { handle: string; cookie: string },
    decision = 'allow',
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return post('/authorize', { handle, decision }, { headers: { cookie, origin: ORIGIN, ...headers } });
  }

  /** A code that waits to be redeemed. */
  async function approve(
    client: Client,
    query: Record<string, string | undefined> = {},
    decision = 'allow',
    who: SignedIn = person,
  ) {
    const question = await ask(client, query, who);
    const answer = await decide(question, decision);
    const location = answer.headers.get('location');
    if (!location)
      throw new Error(`/authorize answered ${answer.status}: ${question.page.text} ${answer.text}`);
    const back = new URL(location);
    return { code: back.searchParams.get('code') ?? '', verifier: question.verifier, back };
  }

  function redeem(
    client: Client,
    { code, verifier }: { code: string; verifier: string },
    form: Record<string, string | undefined> = {},
  ): Promise<Answer> {
    return post('/token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: client.redirect,
      resource: RESOURCE,
      ...credentials(client),
      ...form,
    });
  }

  function refresh(
    client: Client,
    token: string,
    form: Record<string, string | undefined> = {},
  ): Promise<Answer> {
    return post('/token', {
      grant_type: 'refresh_token',
      refresh_token: token,
      ...credentials(client),
      ...form,
    });
  }

  /** The whole way from registration to tokens. */
  async function connect(query: Record<string, string | undefined> = {}, decision = 'allow') {
    const client = await register();
    const tokens = tokensOf(await redeem(client, await approve(client, query, decision)));
    return { client, tokens };
  }

  /** The person's side of the registry. */
  function personal(): Context {
    const around = { db: api.db, now: () => api.clock.now, notify: api.push.notify, defer: () => undefined };
    return new Context(around, { type: 'session', hash: person.hash });
  }

  async function events(type: AccountEvent['type']): Promise<AccountEvent[]> {
    return (await listEvents(personal())).events.filter((event) => event.type === type);
  }

  /** Calls a tool of `/mcp`. */
  function tool(
    token: string,
    name = 'skills',
    args: unknown = { action: 'list' },
    path = '/mcp',
  ): Promise<Answer> {
    return mcp(token, 'tools/call', { name, arguments: args }, { path });
  }

  /** One request to an MCP address, by a client of that name. */
  async function mcp(
    token: string,
    method: string,
    params: Record<string, unknown> = {},
    { path = '/mcp', name = 'someone' }: { path?: string; name?: string } = {},
  ) {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name, version: '1' },
    };
    return api.call(path, {
      method: 'POST',
      token,
      body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
      headers: headersOf(method, params),
    });
  }

  return {
    ...api,
    person,
    personal,
    events,
    pass,
    post,
    register,
    ask,
    decide,
    approve,
    redeem,
    refresh,
    connect,
    tool,
    mcp,
  };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

function formOf(fields: Record<string, string | undefined>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return new URLSearchParams(given).toString();
}

function credentials({ id, secret }: Client): Record<string, string | undefined> {
  return { client_id: id, client_secret: secret };
}

export function tokensOf({ status, json, text }: Answer): Tokens {
  if (status !== 200) throw new Error(`/token answered ${status}: ${text}`);
  return { access: json.access_token, refresh: json.refresh_token };
}

/** RFC 7636 section 4.2. */
export async function challengeOf(verifier: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return Buffer.from(hash).toString('base64url');
}

function handleIn({ text }: Answer): string {
  return /name="handle" value="([^"]+)"/.exec(text)?.[1] ?? '';
}

function cookiesOf(who: SignedIn, { headers }: Answer): string {
  return [who.headers.cookie, ...headers.getSetCookie().map((cookie) => cookie.split(';')[0])].join('; ');
}
