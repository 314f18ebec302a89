import { describe, expect, test } from 'vitest';
import { oauthRecords } from '../../../worker/db/tables/programs.ts';
import { listApplications } from '../../../worker/registry/applications.ts';
import { ORIGIN } from '../api/harness.ts';
import { CALLBACK, openTestOAuth, RESOURCE, type TestOAuth, tokensOf } from './oauth-harness.ts';
import { signedIn } from './signed-in.ts';

const LOOPBACK = 'http://127.0.0.1:7777/callback';

async function waiting({ db }: TestOAuth): Promise<number> {
  const keys = await db.select({ key: oauthRecords.key }).from(oauthRecords);
  return keys.filter(({ key }) => key.startsWith('transaction:')).length;
}

test('an application is connected, calls, refreshes, and calls again', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const approved = await oauth.approve(client);
  expect(Object.fromEntries(approved.back.searchParams)).toEqual({
    code: approved.code,
    state: 'a state',
    iss: ORIGIN,
  });
  const answer = await oauth.redeem(client, approved);
  expect(answer.json).toMatchObject({
    token_type: 'bearer',
    expires_in: 86_400,
    scope: 'skills:read skills:write',
    resource: RESOURCE,
  });
  const first = tokensOf(answer);
  expect((await oauth.tool(first.access)).status).toBe(200);
  const second = tokensOf(await oauth.refresh(client, first.refresh));
  expect((await oauth.tool(second.access)).status).toBe(200);

  const { applications } = await listApplications(oauth.personal());
  expect(applications).toEqual([
    {
      id: first.access.split(':')[1],
      client_id: client.id,
      name: 'Claude',
      host: 'claude.ai',
      scopes: ['skills:read', 'skills:write'],
      read_only: false,
      connected_at: oauth.clock.now,
      last_used_at: oauth.clock.now,
    },
  ]);
  expect(await oauth.events('application_connected')).toMatchObject([
    { details: { name: 'Claude', host: 'claude.ai' } },
  ]);
});

describe('check 1: a redirect that is not exactly a registered one ends on a page of our own', () => {
  test.each([
    ['path in another case', 'https://claude.ai/api/mcp/AUTH_CALLBACK'],
    ['host in another case', 'https://CLAUDE.ai/api/mcp/auth_callback'],
    ['slash at the end', `${CALLBACK}/`],
    ['port', 'https://claude.ai:8443/api/mcp/auth_callback'],
    ['default port', 'https://claude.ai:443/api/mcp/auth_callback'],
    ['sub-path', `${CALLBACK}/more`],
    ['parent path', 'https://claude.ai/api/mcp/x/../auth_callback'],
    ['userinfo', 'https://someone@claude.ai/api/mcp/auth_callback'],
    ['host that begins alike', 'https://claude.ai.evil.example/api/mcp/auth_callback'],
    ['query', `${CALLBACK}?a=b`],
    ['fragment', `${CALLBACK}#`],
    ['no TLS', 'http://claude.ai/api/mcp/auth_callback'],
    ['script', 'javascript:alert(1)'],
    ['somebody else’s scheme', 'evil://anysphere.cursor-mcp/oauth/callback'],
    ['nothing', ''],
    ['no URL', 'callback'],
  ])('%s', async (_, redirect_uri) => {
    const oauth = await openTestOAuth();
    const { page } = await oauth.ask(await oauth.register(), { redirect_uri });
    expect(page.status).toBe(400);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.has('location')).toBe(false);
    expect(page.text).toContain('The application was not connected');
    expect(await waiting(oauth)).toBe(0);
  });

  test.each([
    ['another loopback port', 'http://127.0.0.1:50123/callback', 200],
    ['no port', 'http://127.0.0.1/callback', 200],
    ['another loopback path', 'http://127.0.0.1:7777/other', 400],
    ['another name of the machine', 'http://localhost:7777/callback', 400],
    ['another machine', 'http://192.168.0.2:7777/callback', 400],
  ])('of a loopback redirect only the port is free: %s', async (_, redirect_uri, status) => {
    const oauth = await openTestOAuth();
    const client = await oauth.register({ redirect_uris: [LOOPBACK] });
    expect((await oauth.ask(client, { redirect_uri })).page.status).toBe(status);
  });

  test('an unknown client ends there too', async () => {
    const oauth = await openTestOAuth();
    const { page } = await oauth.ask({ id: 'abcdefghijklmnop', redirect: CALLBACK });
    expect([page.status, page.headers.has('location')]).toEqual([400, false]);
  });
});

describe('check 2: without PKCE by S256 there is no code, and without its verifier no token', () => {
  test.each([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['no challenge but a method', { code_challenge: undefined }],
    ['plain', { code_challenge_method: 'plain' }],
    ['plain by omission', { code_challenge_method: undefined }],
    ['an unknown method', { code_challenge_method: 'S512' }],
    ['a challenge that is no hash', { code_challenge: 'short' }],
  ])('%s', async (_, query) => {
    const oauth = await openTestOAuth();
    for (const token_endpoint_auth_method of ['none', 'client_secret_post']) {
      const client = await oauth.register({ token_endpoint_auth_method });
      const { page } = await oauth.ask(client, query);
      const back = new URL(page.headers.get('location') ?? '');
      expect(back.origin + back.pathname).toBe(CALLBACK);
      expect(back.searchParams.get('error')).toBe('invalid_request');
      expect(back.searchParams.get('state')).toBe('a state');
      expect(back.searchParams.get('iss')).toBe(ORIGIN);
      expect(back.searchParams.has('code')).toBe(false);
    }
    expect(await waiting(oauth)).toBe(0);
  });

  test.each([
    ['no verifier', undefined, 'invalid_request'],
    ['another verifier', 'x'.repeat(43), 'invalid_grant'],
  ])('%s', async (_, code_verifier, error) => {
    const oauth = await openTestOAuth();
    const client = await oauth.register();
    const approved = await oauth.approve(client);
    const answer = await oauth.redeem(client, approved, { code_verifier });
    expect([answer.status, answer.json.error]).toEqual([400, error]);
    expect(answer.text).not.toContain('token"');
  });
});

describe('check 5: a resource that is not ours is refused', () => {
  test.each([
    'https://other.example/mcp',
    `${ORIGIN}/`,
    `${ORIGIN}/api/v1`,
    `${ORIGIN}/mcp/`,
    `${ORIGIN}/mcp/a/b`,
  ])('%s at /authorize', async (resource) => {
    const oauth = await openTestOAuth();
    const { page } = await oauth.ask(await oauth.register(), { resource });
    const back = new URL(page.headers.get('location') ?? '');
    expect(back.origin + back.pathname).toBe(CALLBACK);
    expect(back.searchParams.get('error')).toBe('invalid_target');
    expect(back.searchParams.has('code')).toBe(false);
  });
});

test('the page says whose tools come along: those of servers in the main list, or of the one server that is asked for', async () => {
  const oauth = await openTestOAuth();
  const token = await oauth.token();
  const abilities = async (query: Record<string, string> = {}) => {
    const { page } = await oauth.ask(await oauth.register(), query);
    const [, list = ''] = /<ul class="scopes">(.*?)<\/ul>/s.exec(page.text) ?? [];
    return [...list.matchAll(/<li>(.*?)<\/li>/gs)].map(([, item]) => item);
  };
  const [reads, edits] = [
    'Read your skills and personas',
    'Create and edit skills and personas, on all your devices',
  ];
  expect(await abilities()).toEqual([reads, edits]);
  for (const [name, in_main] of [
    ['notes', true],
    ['papers', true],
    ['apart', false],
  ])
    await oauth.call('/api/v1/servers', {
      method: 'POST',
      token,
      body: { name, in_main, upstream: 'https://mcp.example.com/mcp' },
    });
  const both = 'of your servers notes, papers, with the access that you gave there';
  expect(await abilities()).toEqual([reads, edits, `Use every tool ${both}`]);
  expect(await abilities({ scope: 'skills:read' })).toEqual([
    reads,
    `Use the tools that only read ${both}`,
    'Ask you later to let it edit them',
  ]);
  const one = 'of your server apart, with the access that you gave there';
  const resource = `${RESOURCE}/apart`;
  expect(await abilities({ resource })).toEqual([reads, `Use every tool ${one}`]);
  expect(await abilities({ resource, scope: 'skills:read' })).toEqual([
    reads,
    `Use the tools that only read ${one}`,
    'Ask you later to let it use every tool',
  ]);
});

describe('check 13: the answer to a consent page is the person’s own', () => {
  test('the page is not framed, runs no foreign script, and lets its form go to the client only', async () => {
    const oauth = await openTestOAuth();
    const { page } = await oauth.ask(await oauth.register());
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/form-action 'self' https:\/\/claude\.ai;/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
  });

  test.each([
    ['cursor://anysphere.cursor-mcp/oauth/callback', "form-action 'self' cursor:;"],
    ['http://[::1]:7777/callback', "form-action 'self' http:;"],
    ['http://localhost:7777/callback', "form-action 'self' http://localhost:7777;"],
  ])('a form’s answer may go to %s', async (redirect, action) => {
    const oauth = await openTestOAuth();
    const client = await oauth.register({ redirect_uris: [redirect, CALLBACK] });
    const { page } = await oauth.ask(client);
    expect(page.headers.get('content-security-policy')).toContain(action);
    expect(page.text).toMatch(/program on (this|your) computer/);
  });

  test.each([
    ['without Origin', { origin: undefined }],
    ['from another site', { origin: 'https://evil.example' }],
    ['from another port', { origin: 'http://localhost:9999' }],
    ['from nowhere', { origin: 'null' }],
  ])('a form that was posted %s counts for nothing', async (_, { origin }) => {
    const oauth = await openTestOAuth();
    const { handle, cookie } = await oauth.ask(await oauth.register());
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      cookie,
      ...(origin ? { origin } : {}),
    };
    const body = new URLSearchParams({ handle, decision: 'allow' }).toString();
    const answer = await oauth.call('/authorize', { method: 'POST', body, headers });
    expect([answer.status, answer.headers.has('location')]).toEqual([400, false]);
    expect(await waiting(oauth)).toBe(1);
  });

  test('an answer counts once', async () => {
    const oauth = await openTestOAuth();
    for (const decision of ['allow', 'allow-read', 'deny']) {
      const question = await oauth.ask(await oauth.register());
      expect((await oauth.decide(question, decision)).status).toBe(302);
      for (const again of ['allow', 'deny']) {
        const answer = await oauth.decide(question, again);
        expect([answer.status, answer.headers.has('location')]).toEqual([400, false]);
      }
    }
  });

  test('of twenty answers at once one counts', async () => {
    const oauth = await openTestOAuth();
    const question = await oauth.ask(await oauth.register());
    const answers = await Promise.all(Array.from({ length: 20 }, () => oauth.decide(question)));
    expect(answers.map(({ status }) => status).sort()).toEqual([302, ...Array(19).fill(400)]);
    expect((await listApplications(oauth.personal())).applications).toHaveLength(1);
  });

  test('a question of another browser, of another account, or of nobody is not answered', async () => {
    const oauth = await openTestOAuth();
    const question = await oauth.ask(await oauth.register());
    const other = await signedIn(oauth, await oauth.addAccount());
    const binding = question.cookie.slice(question.cookie.indexOf(';') + 2);
    expect(binding).toMatch(/^oauth-consent-/);
    for (const cookie of [
      oauth.person.headers.cookie,
      `${oauth.person.headers.cookie}; ${binding.replace(/.$/, (last) => (last === '0' ? '1' : '0'))}`,
      `${other.headers.cookie}; ${binding}`,
      binding,
    ]) {
      const answer = await oauth.decide({ ...question, cookie });
      expect([answer.status, answer.headers.has('location')]).toEqual([400, false]);
    }
    for (const handle of ['', 'x', `${question.handle}x`])
      expect((await oauth.decide({ ...question, handle })).status).toBe(400);
    expect((await oauth.decide(question, 'yes')).status).toBe(400);
    expect((await oauth.decide(question)).status).toBe(302);
  });

  test('a question is too old after ten minutes', async () => {
    const oauth = await openTestOAuth();
    const question = await oauth.ask(await oauth.register());
    oauth.pass(600_000);
    expect((await oauth.decide(question)).status).toBe(400);
  });
});

test('who is not signed in is sent to sign in, and comes back to the question', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const asked = `/authorize?client_id=${client.id}&state=a%26b`;
  for (const cookie of ['', `repertoire=${'x'.repeat(43)}`]) {
    const { status, headers } = await oauth.call(asked, { headers: { cookie } });
    expect(status).toBe(302);
    const login = new URL(headers.get('location') ?? '', ORIGIN);
    expect([login.origin, login.pathname, login.searchParams.get('next')]).toEqual([ORIGIN, '/login', asked]);
  }
});

test('who says no is sent back with access_denied, and nothing is connected', async () => {
  const oauth = await openTestOAuth();
  const { headers } = await oauth.decide(await oauth.ask(await oauth.register()), 'deny');
  const back = new URL(headers.get('location') ?? '');
  expect(Object.fromEntries(back.searchParams)).toEqual({
    error: 'access_denied',
    state: 'a state',
    iss: ORIGIN,
  });
  expect((await listApplications(oauth.personal())).applications).toEqual([]);
});

test('a client that names no scope of ours is asked for all of them, and is told what it got', async () => {
  const oauth = await openTestOAuth();
  for (const [scope, granted] of [
    [undefined, 'skills:read skills:write'],
    ['openid offline_access', 'skills:read skills:write'],
    ['skills:read offline_access', 'skills:read'],
    ['skills:write', 'skills:read skills:write'],
    ['devices:write skills:read items:confirm', 'skills:read'],
  ]) {
    const client = await oauth.register();
    const answer = await oauth.redeem(client, await oauth.approve(client, { scope }));
    expect(answer.json.scope).toBe(granted);
  }
});

test('a hosted application that connects again takes the place of its old grant, quietly', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const first = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  const second = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  expect((await oauth.tool(first.access)).status).toBe(401);
  expect((await oauth.tool(second.access)).status).toBe(200);
  expect((await listApplications(oauth.personal())).applications).toHaveLength(1);
  expect(await oauth.events('application_revoked')).toEqual([]);
});

test('on one’s own machine the other names of it lead to localhost, where the session is', async () => {
  const oauth = await openTestOAuth();
  const { status, headers } = await oauth.call('http://127.0.0.1:8787/authorize?client_id=x');
  expect([status, headers.get('location')]).toEqual([302, 'http://localhost:8787/authorize?client_id=x']);

  const resource = 'http://127.0.0.1:8787/mcp';
  const client = await oauth.register();
  const approved = await oauth.approve(client, { resource });
  const { access } = tokensOf(await oauth.redeem(client, approved, { resource }));
  expect((await oauth.tool(access, undefined, undefined, resource)).status).toBe(200);
  expect((await oauth.tool(access)).status).toBe(401);
});

test('over plain http, save on one’s own machine, nothing is handed out', async () => {
  const oauth = await openTestOAuth();
  for (const [method, path] of [
    ['GET', '/authorize?client_id=x'],
    ['POST', '/token'],
    ['POST', '/register'],
    ['POST', '/revoke'],
  ] as const) {
    const { status } = await oauth.call(`http://registry.example${path}`, { method });
    expect([path, status]).toEqual([path, 403]);
  }
});
