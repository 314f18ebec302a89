import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { sessions } from '../../../worker/db/tables/people.ts';
import { servers as serverTable } from '../../../worker/db/tables/servers.ts';
import { newId } from '../../../worker/registry/random.ts';
import { ORIGIN, openTestApi, type TestApi } from '../api/harness.ts';
import { headersOf } from '../mcp/harness.ts';
import { serve, tool } from './upstreams.ts';

let api: TestApi;
let token: string;
let cookie: string;

beforeEach(async () => {
  api = await openTestApi({ outbound: (url, init) => fetch(url, init) });
  token = await api.token();
  cookie = await signIn(await accountOf(token));
});

/** A session whose passkey was checked just now. */
async function signIn(accountId: string): Promise<string> {
  const secret = 'c'.repeat(42) + Math.floor(Math.random() * 10);
  await api.db.insert(sessions).values({
    id: newId(),
    hash: await sha256(secret),
    accountId,
    method: 'passkey',
    browser: 'a test',
    place: 'here',
    createdAt: api.clock.now,
    expiresAt: api.clock.now + 3_600_000,
    verifiedAt: api.clock.now,
  });
  return `repertoire=${secret}`;
}

async function accountOf(bearer: string): Promise<string> {
  const { json } = await api.call('/api/v1/whoami', { token: bearer });
  return json.account_id;
}

/** An MCP server that takes the tokens of its own authorization server only. */
async function startProtected({ register = true } = {}) {
  const state = {
    valid: 'first',
    refreshes: 0,
    codes: 0,
    registered: [] as unknown[],
    bearers: [] as unknown[],
    /** Where its login is, when that is elsewhere. */
    login: null as string | null,
    authorize: null as string | null,
    /** Answers the next requests for tokens in its own way. */
    token: null as ((form: URLSearchParams, response: ServerResponse) => unknown) | null,
  };
  const answer = (response: ServerResponse, value: object, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const running = await serve(async (request: IncomingMessage, response: ServerResponse) => {
    const origin = `http://${request.headers.host}`;
    let body = '';
    for await (const chunk of request) body += chunk;
    const { pathname } = new URL(request.url ?? '/', origin);
    switch (pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        return answer(response, {
          resource: `${origin}/mcp`,
          authorization_servers: [state.login ?? origin],
        });
      case '/.well-known/oauth-authorization-server':
        return answer(response, {
          issuer: origin,
          authorization_endpoint: state.authorize ?? `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          ...(register ? { registration_endpoint: `${origin}/register` } : {}),
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
        });
      case '/register': {
        const metadata = JSON.parse(body);
        state.registered.push(metadata);
        return answer(response, { ...metadata, client_id: 'registered-here' }, 201);
      }
      case '/token': {
        const form = new URLSearchParams(body);
        if (state.token) return state.token(form, response);
        if (form.get('grant_type') === 'refresh_token') state.refreshes++;
        else if (form.get('code') === 'good' && form.get('code_verifier')) state.codes++;
        else return answer(response, { error: 'invalid_grant' }, 400);
        state.valid = `access-${state.codes}-${state.refreshes}`;
        return answer(response, {
          access_token: state.valid,
          token_type: 'Bearer',
          expires_in: 3600,
          refresh_token: `refresh-${state.refreshes}`,
        });
      }
      case '/mcp': {
        if (request.method !== 'POST') return void response.writeHead(405).end();
        state.bearers.push(request.headers.authorization);
        if (request.headers.authorization !== `Bearer ${state.valid}`) {
          response.writeHead(401, {
            'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
          });
          return response.end();
        }
        const { id, method } = JSON.parse(body);
        if (id === undefined) return void response.writeHead(202).end();
        if (method === 'server/discover')
          return answer(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } });
        const result =
          method === 'initialize'
            ? {
                protocolVersion: '2025-06-18',
                capabilities: { tools: {} },
                serverInfo: { name: 'protected', version: '1' },
              }
            : { tools: [tool('behind-a-login')] };
        return answer(response, { jsonrpc: '2.0', id, result });
      }
    }
    response.writeHead(404).end();
  });
  onTestFinished(running.stop);
  return { state, origin: running.url, upstream: `${running.url}/mcp` };
}

const post = (path: string, body?: object, who: object = { headers: { cookie, origin: ORIGIN } }) =>
  api.call(`/api/v1/servers${path}`, { method: 'POST', ...(body ? { body } : {}), ...who });

async function tools(): Promise<string> {
  const { text } = await api.call('/mcp/locked', {
    method: 'POST',
    token,
    headers: headersOf('tools/list', {}, '2025-06-18'),
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
  });
  await api.settle();
  return text;
}

async function connect({ origin }: { origin: string }, changes: Record<string, string> = {}) {
  const begun = await post('/locked/connect');
  const url = new URL(begun.json.authorize_url);
  const query = new URLSearchParams({
    code: 'good',
    state: url.searchParams.get('state') ?? '',
    iss: origin,
    ...changes,
  });
  const back = () => api.call(`/servers/callback?${query}`, { headers: { cookie } });
  return { url, query, back };
}

describe('a server behind OAuth', () => {
  test('is connected by its person, spoken to with its token, and the token renewed when it is refused', async () => {
    const server = await startProtected();
    await post('', {
      name: 'locked',
      upstream: server.upstream,
      credential: { type: 'oauth', scope: 'tools' },
    });
    expect(await tools()).toContain('does not accept the credential');

    const { url, back } = await connect(server);
    expect(url.origin + url.pathname).toBe(`${server.origin}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'registered-here',
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${ORIGIN}/servers/callback`,
      resource: server.upstream,
      scope: 'tools',
    });
    expect(server.state.registered).toMatchObject([{ redirect_uris: [`${ORIGIN}/servers/callback`] }]);
    const done = await back();
    expect([done.status, done.headers.get('location')]).toEqual([302, '/account']);
    expect(await tools()).toContain('behind-a-login');
    expect((await api.call('/api/v1/servers/locked', { token })).json).toMatchObject({ connected: true });

    server.state.valid = 'another';
    expect(await tools()).toContain('behind-a-login');
    expect(server.state.refreshes).toBe(1);
    expect(await tools()).toContain('behind-a-login');
    expect(server.state.refreshes).toBe(1);
  });

  test('is not connected by an answer that comes twice, late, for another account, or from another issuer', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });

    const first = await connect(server);
    const stranger = await signIn(await api.addAccount());
    const query = `/servers/callback?${first.query}`;
    expect((await api.call(query, { headers: { cookie: stranger } })).status).toBe(400);
    expect((await api.call(query)).status).not.toBe(302);
    expect((await first.back()).status).toBe(302);
    expect((await first.back()).status).toBe(400);

    const late = await connect(server);
    api.clock.now += 11 * 60_000;
    expect((await late.back()).status).toBe(400);
    api.clock.now -= 11 * 60_000;

    const mixed = await connect(server, { iss: 'https://issuer.example' });
    const refused = await mixed.back();
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('The login of locked did not work');
    expect(server.state.codes).toBe(1);
  });

  test('takes a client that was registered beforehand, and says so where it needs one', async () => {
    const server = await startProtected({ register: false });
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
    const refused = await post('/locked/connect');
    expect(refused.problem).toMatchObject({ code: 'unavailable' });
    expect(refused.problem.detail).toContain('set client_id in the credential');
    await api.call('/api/v1/servers/locked', {
      method: 'PATCH',
      headers: { cookie, origin: ORIGIN },
      body: { credential: { type: 'oauth', client_id: 'known-before' } },
    });
    const { url, back } = await connect(server);
    expect(url.searchParams.get('client_id')).toBe('known-before');
    expect((await back()).status).toBe(302);
    expect(await tools()).toContain('behind-a-login');
  });

  test('leaves no token in the database that can be read, and none in an answer', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
    await (await connect(server)).back();
    await tools();
    const [row] = await api.db.select().from(serverTable);
    expect(row?.grant).not.toBeNull();
    const kept = JSON.stringify(row);
    for (const secret of ['access-1', 'refresh-0']) {
      expect(kept).not.toContain(secret);
      for (const text of api.seen.texts) expect(text).not.toContain(secret);
    }
  });

  test('many requests at once that find the token expired renew it once', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
    await (await connect(server)).back();
    expect(await tools()).toContain('behind-a-login');
    server.state.valid = 'another';
    const answers = await Promise.all([tools(), tools(), tools(), tools()]);
    for (const answer of answers) expect(answer).toContain('behind-a-login');
    expect(server.state.refreshes).toBe(1);
  });

  test('a token endpoint that repeats what it was sent brings none of it into the log', async () => {
    const said: unknown[] = [];
    for (const method of ['log', 'warn', 'error'] as const)
      vi.spyOn(console, method).mockImplementation((...words) => void said.push(...words));
    onTestFinished(() => void vi.restoreAllMocks());
    const server = await startProtected();
    const credential = { type: 'oauth', client_id: 'known-before', client_secret: 'the-client-secret' };
    await post('', { name: 'locked', upstream: server.upstream, credential });
    const repeat = (status: number) => (form: URLSearchParams, response: ServerResponse) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      const error_description = `${form}`;
      response.end(
        status === 400 ? JSON.stringify({ error: 'invalid_grant', error_description }) : error_description,
      );
    };
    server.state.token = repeat(400);
    const refused = await (await connect(server)).back();
    expect(refused.text).toContain('The login of locked did not work');
    server.state.token = null;
    await (await connect(server)).back();
    for (const [status, why] of [
      [400, 'does not accept the credential'],
      [500, 'The login of locked does not renew its access now'],
    ] as const) {
      server.state.valid = 'another';
      server.state.token = repeat(status);
      expect(await tools()).toContain(why);
    }
    const log = JSON.stringify(said);
    for (const secret of ['the-client-secret', 'refresh-0', 'code=good', 'code_verifier'])
      expect(log).not.toContain(secret);
  });

  test('a server that names another login later gets neither the refresh token nor the secret there', async () => {
    const [server, thief] = [await startProtected(), await startProtected()];
    const heard: string[] = [];
    thief.state.token = (form, response) => {
      heard.push(`${form}`);
      response.writeHead(400).end();
    };
    const credential = { type: 'oauth', client_id: 'known-before', client_secret: 'the-client-secret' };
    await post('', { name: 'locked', upstream: server.upstream, credential });
    await (await connect(server)).back();
    server.state.login = thief.origin;
    server.state.valid = 'another';
    expect(await tools()).toContain('behind-a-login');
    expect(server.state.refreshes).toBe(1);
    const again = await post('/locked/connect');
    expect(again.problem).toMatchObject({ code: 'conflict' });
    expect(again.problem.detail).toContain(server.origin);
    expect(heard).toEqual([]);
  });

  test('a login that was begun before the server was changed connects nothing', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
    const { back } = await connect(server);
    await api.call('/api/v1/servers/locked', {
      method: 'PATCH',
      headers: { cookie, origin: ORIGIN },
      body: { upstream: 'http://127.0.0.1:9/mcp', credential: { type: 'oauth' } },
    });
    const late = await back();
    expect(late.status).toBe(409);
    expect(late.text).toContain('The server locked was changed meanwhile; connect it again.');
    expect(server.state.codes).toBe(0);
  });

  test('tokens that arrive after the credential was changed are not kept', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
    await (await connect(server)).back();
    server.state.valid = 'another';
    server.state.token = async (_, response) => {
      server.state.token = null;
      await api.call('/api/v1/servers/locked', {
        method: 'PATCH',
        headers: { cookie, origin: ORIGIN },
        body: { upstream: 'http://127.0.0.1:9/mcp', credential: { type: 'oauth' } },
      });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: 'too-late', token_type: 'Bearer' }));
    };
    await tools();
    const [row] = await api.db.select().from(serverTable);
    expect(row).toMatchObject({ upstream: 'http://127.0.0.1:9/mcp', grant: null });
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'vbscript:x'])(
    'a login at %s is none',
    async (authorize) => {
      const server = await startProtected();
      server.state.authorize = authorize;
      await post('', { name: 'locked', upstream: server.upstream, credential: { type: 'oauth' } });
      const begun = await post('/locked/connect');
      expect(begun.json.authorize_url).toBeUndefined();
      expect(begun.problem.code).toBe('unavailable');
    },
  );

  test('needs a passkey that was checked minutes ago, and a credential that is OAuth', async () => {
    const server = await startProtected();
    await post('', { name: 'locked', upstream: server.upstream });
    expect((await post('/locked/connect')).problem.code).toBe('invalid_input');
    api.clock.now += 6 * 60_000;
    expect((await post('/locked/connect')).problem.code).toBe('passkey_required');
    const body = { name: 'more', upstream: server.upstream, credential: { type: 'bearer', token: 'x' } };
    expect((await post('', body)).problem.code).toBe('passkey_required');
  });
});

test('our metadata as a client is at its address', async () => {
  const { json } = await api.call('/servers/client.json');
  expect(json).toMatchObject({
    client_id: `${ORIGIN}/servers/client.json`,
    redirect_uris: [`${ORIGIN}/servers/callback`],
  });
});
