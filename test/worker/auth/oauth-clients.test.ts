import { describe, expect, test, vi } from 'vitest';
import { oauthRecords } from '../../../worker/db/tables/programs.ts';
import { listApplications } from '../../../worker/registry/applications.ts';
import { ORIGIN } from '../api/harness.ts';
import { CALLBACK, openTestOAuth, type TestOAuth, tokensOf } from './oauth-harness.ts';

const ID = 'https://client.example/oauth/client.json';
const REDIRECT = 'https://client.example/callback';
const DAY = 24 * 3_600_000;

type Fetched = (url: string, init: RequestInit) => Response | Promise<Response>;

const DOCUMENT = {
  client_id: ID,
  client_name: 'A client',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

function json(body: unknown, init: ResponseInit = {}): Response {
  return new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    headers: { 'content-type': 'application/json' },
    ...init,
  });
}

/** A registry whose network beyond is a function, and what was asked of it. */
async function openWith(answer: Fetched) {
  const fetched: string[] = [];
  const network = { answer };
  const oauth = await openTestOAuth({
    outbound: async (url, init) => {
      fetched.push(url);
      return network.answer(url, init);
    },
  });
  return { oauth, fetched, network };
}

async function stored({ db }: TestOAuth): Promise<string[]> {
  return (await db.select({ key: oauthRecords.key }).from(oauthRecords)).map(({ key }) => key);
}

describe('check 10: a client’s metadata document that must not be believed', () => {
  const evil = { ...DOCUMENT, client_id: 'https://evil.example/client.json' };
  test.each<[string, string, Fetched]>([
    [
      '301 to a good one',
      'answers 301',
      () => new Response(null, { status: 301, headers: { location: ID } }),
    ],
    ['302 elsewhere', 'answers 302', () => Response.redirect('https://evil.example/client.json', 302)],
    ['404', 'answers 404', () => json(DOCUMENT, { status: 404 })],
    ['more than 64 KB', 'more than 5120 bytes', () => json({ ...DOCUMENT, padding: 'x'.repeat(65_536) })],
    ['more than 5 KB', 'more than 5120 bytes', () => json({ ...DOCUMENT, padding: 'x'.repeat(5120) })],
    ['no end of it', 'more than 5120 bytes', endless],
    ['another id', 'another id', () => json(evil)],
    [
      'HTML',
      'does not answer with JSON',
      () => json('<!doctype html><p>Sign in</p>', { headers: { 'content-type': 'text/html' } }),
    ],
    [
      'JSON that says it is text',
      'does not answer with JSON',
      () => json(DOCUMENT, { headers: { 'content-type': 'text/plain' } }),
    ],
    ['no JSON', 'not understood', () => json('{')],
    ['a list', 'not understood', () => json([DOCUMENT])],
    ['nothing', 'not understood', () => json('')],
    [
      'a method with a secret',
      'prove itself',
      () => json({ ...DOCUMENT, token_endpoint_auth_method: 'client_secret_post' }),
    ],
    [
      'a method with a secret before others',
      'prove itself',
      () =>
        json({
          ...DOCUMENT,
          token_endpoint_auth_method: 'client_secret_basic',
          token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
        }),
    ],
    [
      'a method that is not offered',
      'prove itself',
      () => json({ ...DOCUMENT, token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    ['a secret', 'not understood', () => json({ ...DOCUMENT, client_secret: 'x' })],
    ['a private key', 'secret key', () => json({ ...DOCUMENT, jwks: { keys: [{ kty: 'EC', d: 'x' }] } })],
    ['no name', 'not understood', () => json({ ...DOCUMENT, client_name: ' ' })],
    ['a long name', 'not understood', () => json({ ...DOCUMENT, client_name: 'x'.repeat(4000) })],
    ['no redirect', 'not understood', () => json({ ...DOCUMENT, redirect_uris: [] })],
    [
      'a redirect to a script',
      'must not be used',
      () => json({ ...DOCUMENT, redirect_uris: [REDIRECT, 'javascript:alert(1)'] }),
    ],
    ['no code flow', 'authorization codes', () => json({ ...DOCUMENT, grant_types: ['client_credentials'] })],
    ['500', 'did not answer', () => json(DOCUMENT, { status: 500 })],
    ['no answer', 'did not answer', () => Promise.reject(new TypeError('fetch failed'))],
    ['a body that breaks off', 'did not answer', brokenOff],
  ])('%s', async (_, reason, answer) => {
    const { oauth, fetched } = await openWith(answer);
    const { page } = await oauth.ask({ id: ID, redirect: REDIRECT });
    expect([page.status, page.headers.has('location')]).toEqual([400, false]);
    expect(page.text).toMatch(/The application cannot be verified[^<]*client\.example/);
    expect(page.text).toContain(reason);
    expect(fetched).toEqual([ID]);
    expect(await stored(oauth)).toEqual([]);
    const { json: refused } = await oauth.redeem(
      { id: ID, redirect: REDIRECT },
      { code: 'x', verifier: 'x' },
    );
    expect(refused.error).toBe('invalid_client');
  });

  test('one that takes half a minute is waited for ten seconds', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { oauth } = await openWith((_, { signal }) => {
      asked.resolve(signal as AbortSignal);
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    });
    const question = oauth.ask({ id: ID, redirect: REDIRECT });
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: oauth.clock.now });
    const signal = await asked.promise;
    vi.advanceTimersByTime(9999);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
    vi.useRealTimers();
    expect((await question).page.status).toBe(400);
  });

  test.each([
    'http://client.example/client.json',
    'https://10.0.0.1/client.json',
    'https://127.0.0.1/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://2130706433/client.json',
    'https://[::1]/client.json',
    'https://[fd00::1]/client.json',
    'https://[::ffff:10.0.0.1]/client.json',
    'https://localhost/client.json',
    'https://printer/client.json',
    'https://nas.local/client.json',
    'https://db.internal/client.json',
    'https://client.example/',
    'https://client.example',
    'https://client.example/a/../client.json',
    'https://client.example/client.json#',
    'https://someone:secret@client.example/client.json',
    'https://CLIENT.example/client.json',
    ' https://client.example/client.json',
  ])('the id %s is not even fetched', async (id) => {
    const { oauth, fetched } = await openWith(() => json({ ...DOCUMENT, client_id: id }));
    const { page } = await oauth.ask({ id, redirect: REDIRECT });
    expect([page.status, page.headers.has('location')]).toEqual([400, false]);
    expect(fetched).toEqual([]);
  });

  const CHATGPT = 'https://chatgpt.com/oauth/abc123/client.json';
  const CLAUDE = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
  const CLAUDE_CODE = 'https://claude.ai/oauth/claude-code-client-metadata';
  test.each([
    [
      'ChatGPT',
      {
        client_id: CHATGPT,
        client_name: 'ChatGPT',
        client_uri: 'https://chatgpt.com',
        redirect_uris: ['https://chatgpt.com/connector/oauth/abc123'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
        response_types: ['code'],
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
        jwks_uri: 'https://chatgpt.com/oauth/abc123/jwks.json',
      },
      'https://chatgpt.com/connector/oauth/abc123',
      'chatgpt.com',
    ],
    [
      'Claude',
      {
        client_id: CLAUDE,
        client_name: 'Claude',
        client_uri: 'https://claude.ai',
        redirect_uris: [CALLBACK, 'https://claude.com/api/mcp/auth_callback'],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
      'https://claude.com/api/mcp/auth_callback',
      'claude.ai',
    ],
    [
      'Claude Code',
      {
        client_id: CLAUDE_CODE,
        client_name: 'Claude Code',
        redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      },
      'http://localhost:53211/callback',
      'claude.ai',
    ],
  ])('that of %s lets it in', async (name, document, redirect, host) => {
    const { oauth, fetched } = await openWith(() => json(document));
    const client = { id: document.client_id, redirect };
    const first = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
    const { access } = tokensOf(await oauth.refresh(client, first.refresh));
    expect((await oauth.tool(access)).status).toBe(200);
    expect(fetched).toEqual([document.client_id]);
    const { applications } = await listApplications(oauth.personal());
    expect(applications).toMatchObject([{ client_id: document.client_id, name, host }]);
  });
});

function streamed(pull: (controller: ReadableStreamDefaultController) => void): Response {
  return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'application/json' } });
}

function brokenOff(): Response {
  return streamed((controller) => controller.error(new TypeError('terminated')));
}

function endless(): Response {
  return streamed((controller) => controller.enqueue(new TextEncoder().encode(' '.repeat(1000))));
}

test('a document is read anew for each question, save within five minutes; when it is out of reach the copy serves', async () => {
  const { oauth, fetched, network } = await openWith(() => json(DOCUMENT));
  const client = { id: ID, redirect: REDIRECT };
  await oauth.redeem(client, await oauth.approve(client));
  await oauth.ask(client);
  expect(fetched).toHaveLength(1);

  oauth.pass(5 * 60_000);
  network.answer = () => json('', { status: 503 });
  expect((await oauth.ask(client)).page.status).toBe(200);
  network.answer = () => json({ ...DOCUMENT, redirect_uris: ['https://client.example/new'] });
  expect((await oauth.ask(client)).page.status).toBe(400);
  network.answer = () => json(DOCUMENT, { status: 404 });
  oauth.pass(5 * 60_000);
  expect((await oauth.ask(client)).page.status).toBe(400);
  expect(fetched).toHaveLength(4);
});

test('a document of a client that nobody let in is forgotten after a day, as a registration is', async () => {
  const { oauth } = await openWith((url) => json({ ...DOCUMENT, client_id: url }));
  const idle = `${ID}?idle`;
  await oauth.ask({ id: idle, redirect: REDIRECT });
  const client = { id: ID, redirect: REDIRECT };
  const { refresh } = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  expect((await stored(oauth)).filter((key) => key.startsWith('client:'))).toHaveLength(2);
  oauth.pass(DAY);
  expect((await oauth.refresh(client, refresh)).status).toBe(200);
  await oauth.settle();
  expect((await stored(oauth)).filter((key) => key.startsWith('client:'))).toEqual([`client:${ID}`]);
});

test('who is refused at the token endpoint has the registry write nothing', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const approved = await oauth.approve(client);
  const old = { key: 'transaction:old', value: '{}', expiresAt: oauth.clock.now, version: 1 };
  await oauth.db.insert(oauthRecords).values(old);
  expect((await oauth.redeem(client, { ...approved, code: 'a:b:c' })).status).toBe(400);
  expect((await oauth.refresh(client, 'a:b:c')).status).toBe(400);
  await oauth.settle();
  expect(await stored(oauth)).toContain(old.key);
  expect((await oauth.redeem(client, approved)).status).toBe(200);
  await oauth.settle();
  expect(await stored(oauth)).not.toContain(old.key);
});

test('nobody but who is signed in makes the registry fetch anything', async () => {
  const { oauth, fetched } = await openWith(() => json(DOCUMENT));
  const query = new URLSearchParams({ client_id: ID, redirect_uri: REDIRECT });
  expect((await oauth.call(`/authorize?${query}`)).status).toBe(302);
  await oauth.post('/token', { grant_type: 'refresh_token', refresh_token: 'a:b:c', client_id: ID });
  expect(fetched).toEqual([]);
});

test('two computers with the same program are two applications', async () => {
  const document = { ...DOCUMENT, redirect_uris: ['http://localhost/callback'] };
  const { oauth } = await openWith(() => json(document));
  const client = { id: ID, redirect: 'http://localhost:3118/callback' };
  const laptop = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  const desktop = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  for (const { access } of [laptop, desktop]) expect((await oauth.tool(access)).status).toBe(200);
});

describe('check 11: registrations', () => {
  const NAME = '<script>alert(1)</script>\u202e & "Claude"';

  test('flood in vain, and go on an hour later', async () => {
    const oauth = await openTestOAuth();
    const statuses: number[] = [];
    for (let i = 0; i < 65; i++)
      statuses.push(
        (await oauth.call('/register', { method: 'POST', body: { redirect_uris: [CALLBACK] } })).status,
      );
    expect(statuses).toEqual([...Array(60).fill(201), ...Array(5).fill(429)]);
    const refused = await oauth.call('/register', { method: 'POST', body: { redirect_uris: [CALLBACK] } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await stored(oauth)).length).toBe(60);
    oauth.pass(3_600_000);
    await oauth.register();
  });

  test.each([
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['file:///etc/passwd'],
    [`${CALLBACK}#x`],
    ['https://someone@claude.ai/callback'],
    ['callback'],
  ])('with %s among their redirects are refused', async (uri) => {
    const oauth = await openTestOAuth();
    await expect(oauth.register({ redirect_uris: [CALLBACK, uri] })).rejects.toThrow('400');
    expect(await stored(oauth)).toEqual([]);
  });

  test.each([
    ['of 10 KB', { client_name: 'x'.repeat(10_240) }],
    [
      'with a thousand redirects',
      { redirect_uris: Array.from({ length: 1000 }, (_, i) => `${CALLBACK}/${i}`) },
    ],
    ['with a long redirect', { redirect_uris: [`${CALLBACK}?${'x'.repeat(10_240)}`] }],
    ['over plain http', { redirect_uris: ['http://claude.ai/callback'] }],
    ['with a scheme of their own alone', { grant_types: ['implicit'] }],
  ])('%s are refused', async (_, metadata) => {
    const oauth = await openTestOAuth();
    await expect(oauth.register(metadata)).rejects.toThrow('400');
    expect(await stored(oauth)).toEqual([]);
  });

  test('that are large are refused', async () => {
    const oauth = await openTestOAuth();
    await expect(oauth.register({ contacts: ['x'.repeat(70_000)] })).rejects.toThrow('413');
  });

  test('of Cursor keep its three redirects, and each is judged when it is used', async () => {
    const oauth = await openTestOAuth();
    const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback';
    const uris = [
      cursor,
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ];
    const client = await oauth.register({
      client_name: 'Cursor',
      redirect_uris: [...uris, 'evil://x/callback'],
    });
    for (const redirect of uris) {
      const tokens = tokensOf(
        await oauth.redeem({ ...client, redirect }, await oauth.approve({ ...client, redirect })),
      );
      expect((await oauth.tool(tokens.access)).status).toBe(200);
    }
    for (const redirect_uri of ['evil://x/callback', `${cursor}/x`, 'cursor://evil/oauth/callback']) {
      const { page } = await oauth.ask(client, { redirect_uri });
      expect([page.status, page.headers.has('location')]).toEqual([400, false]);
    }
  });

  test('show their name as text, with the host it comes from', async () => {
    const oauth = await openTestOAuth();
    const { page } = await oauth.ask(await oauth.register({ client_name: NAME }));
    expect(page.text).not.toContain('<script>alert');
    expect(page.text).not.toContain('\u202e');
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.text).toContain('claude.ai');
  });

  test('that nobody let in are gone after a day, others stay as long as they are used', async () => {
    const oauth = await openTestOAuth();
    const idle = await oauth.register();
    const { client, tokens } = await oauth.connect();
    let current = tokens;
    for (const days of [1, 80, 80]) {
      oauth.pass(days * DAY);
      current = tokensOf(await oauth.refresh(client, current.refresh));
      await oauth.settle();
    }
    const clients = (await stored(oauth)).filter((key) => key.startsWith('client:'));
    expect(clients).not.toContain(`client:${idle.id}`);
    expect(clients).toEqual([`client:${client.id}`]);
  });

  test('may be repeated', async () => {
    const oauth = await openTestOAuth();
    expect((await oauth.register()).id).not.toBe((await oauth.register()).id);
  });
});

test('a client with a secret proves itself by it, in either way', async () => {
  const oauth = await openTestOAuth();
  const posting = await oauth.register({ token_endpoint_auth_method: 'client_secret_post' });
  await oauth.redeem(posting, await oauth.approve(posting)).then(tokensOf);
  const {
    id,
    secret = '',
    redirect,
  } = await oauth.register({ token_endpoint_auth_method: 'client_secret_basic' });
  const basic = (form: Record<string, string>, password: string) =>
    oauth.post('/token', form, { headers: { authorization: `Basic ${btoa(`${id}:${password}`)}` } });
  const { code, verifier } = await oauth.approve({ id, redirect });
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect };
  expect((await basic(form, 'wrong')).status).toBe(401);
  let tokens = tokensOf(await basic(form, secret));
  const old = tokens.refresh;
  for (let i = 0; i < 2; i++)
    tokens = tokensOf(await basic({ grant_type: 'refresh_token', refresh_token: tokens.refresh }, secret));
  oauth.pass(60_000);
  expect((await basic({ grant_type: 'refresh_token', refresh_token: old }, secret)).status).toBe(400);
  expect((await oauth.tool(tokens.access)).status).toBe(401);
  expect(await oauth.events('refresh_replayed')).toHaveLength(1);
});

test('clients in web pages may ask from anywhere, but not for the person’s page', async () => {
  const oauth = await openTestOAuth();
  const origin = 'https://inspector.example';
  for (const path of ['/token', '/register', '/revoke', '/.well-known/oauth-protected-resource/mcp']) {
    const preflight = await oauth.call(path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    expect([path, preflight.status]).toEqual([path, 204]);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
    expect(preflight.headers.get('access-control-allow-credentials')).toBe(null);
  }
  const refused = await oauth.post('/token', {}, { headers: { origin } });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('access-control-allow-origin')).toBe(origin);
  const page = await oauth.call('/authorize', { headers: { origin, cookie: oauth.person.headers.cookie } });
  expect(page.headers.has('access-control-allow-origin')).toBe(false);
  expect(ORIGIN).not.toBe(origin);
});
