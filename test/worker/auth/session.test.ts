import { eq } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { codeMisses, pairings } from '../../../worker/db/tables/devices.ts';
import { sessions } from '../../../worker/db/tables/people.ts';
import { startPairing } from '../../../worker/registry/pairing.ts';
import { newSecret } from '../../../worker/registry/random.ts';
import { ORIGIN, openTestApi } from '../api/harness.ts';
import { Authenticator } from './authenticator.ts';
import { Browser } from './browser.ts';
import { owner, ownerLink } from './owner.ts';
import { signedIn } from './signed-in.ts';

const DAY_MS = 24 * 60 * 60_000;
const FAR = 'https://registry.example';

test('check 23: a session that somebody else prepared is not the one that is opened', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const prepared = newSecret();
  const victim = new Browser(api, undefined, authenticator);
  victim.cookies.set('repertoire', prepared);
  await victim.logIn();
  expect(victim.cookies.get('repertoire')).not.toBe(prepared);
  const thief = new Browser(api);
  thief.cookies.set('repertoire', prepared);
  expect(await thief.isSignedIn()).toBe(false);
  expect(await victim.isSignedIn()).toBe(true);
});

test('check 23: each login is a new session and ends what the browser had', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const before = browser.cookies.get('repertoire') ?? '';
  await browser.logIn();
  expect(browser.cookies.get('repertoire')).not.toBe(before);
  const old = new Browser(api);
  old.cookies.set('repertoire', before);
  expect(await old.isSignedIn()).toBe(false);
});

test('check 23: logging out ends the session for whoever holds its cookie', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const copy = new Browser(api);
  copy.cookies.set('repertoire', browser.cookies.get('repertoire') ?? '');
  expect(await copy.isSignedIn()).toBe(true);
  expect((await browser.post('/auth/logout')).status).toBe(204);
  expect(browser.cookies.has('repertoire')).toBe(false);
  expect(await copy.isSignedIn()).toBe(false);
  expect((await browser.post('/auth/logout')).status).toBe(204);
});

test('check 23: a session ends a week after its last use', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  for (let n = 0; n < 3; n++) {
    api.clock.now += 6 * DAY_MS;
    expect(await browser.isSignedIn()).toBe(true);
    await api.settle();
  }
  api.clock.now += 7 * DAY_MS;
  expect(await browser.isSignedIn()).toBe(false);
});

test('check 23: a session ends thirty days after signing in, however much it is used', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  for (let n = 0; n < 29; n++) {
    api.clock.now += DAY_MS;
    expect(await browser.isSignedIn()).toBe(true);
    await api.settle();
  }
  api.clock.now += DAY_MS;
  expect(await browser.isSignedIn()).toBe(false);
  const next = new Browser(api, undefined, browser.authenticator);
  await next.logIn();
  expect(await api.db.select().from(sessions)).toHaveLength(1);
});

test('check 23: a write that does not come from a page of our own is refused', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const origins = [
    undefined,
    'null',
    'https://evil.example',
    'http://localhost:8788',
    'https://localhost:8787',
  ];
  const writes = [
    ['POST', '/api/v1/items'],
    ['POST', '/api/v1/recovery-codes'],
    ['POST', '/api/v1/invitations'],
    ['DELETE', '/api/v1/sessions/current'],
    ['POST', '/auth/logout'],
    ['POST', '/auth/login/options'],
    ['POST', '/auth/login/finish'],
    ['POST', '/auth/login/recovery'],
    ['POST', '/auth/setup/options'],
    ['POST', '/auth/setup/finish'],
    ['POST', '/auth/check/options'],
    ['POST', '/auth/check/finish'],
  ] as const;
  for (const origin of origins) {
    for (const [method, path] of writes) {
      const { status, problem } = await browser.call(method, path, {}, { origin });
      expect([path, status, problem.code]).toEqual([path, 403, 'access_denied']);
    }
  }
  // Another page's script opens sockets with our cookie, too.
  const upgrade = { upgrade: 'websocket', origin: 'https://evil.example' };
  expect((await browser.call('GET', '/api/v1/whoami', undefined, upgrade)).problem.code).toBe(
    'access_denied',
  );
  expect((await browser.call('GET', '/api/v1/push', undefined, upgrade)).problem.code).toBe('unauthorized');
  expect(await browser.isSignedIn()).toBe(true);
});

test('check 23: a link on another site reads nothing of the API, where to look at a code claims it', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const look = (site: string, code: string) =>
    browser.call('GET', `/api/v1/pairings/${code}`, undefined, { 'sec-fetch-site': site });
  const { userCode } = await startPairing(
    { ...api, now: () => api.clock.now, notify: async () => undefined, defer: () => undefined },
    {
      jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' },
      thumbprint: newSecret(),
      jti: 'j',
      expiresAt: api.clock.now + 60_000,
    },
    { name: 'laptop', platform: 'linux', place: 'elsewhere' },
  );
  for (const site of ['cross-site', 'same-site']) {
    for (let n = 0; n < 5; n++) expect((await look(site, 'BBBB-BBBB')).problem.code).toBe('access_denied');
    expect((await look(site, userCode)).problem.code).toBe('access_denied');
  }
  const [waiting] = await api.db.select().from(pairings);
  expect(waiting?.claimedBy).toBeNull();
  expect(await api.db.select().from(codeMisses)).toEqual([]);
  for (const site of ['none', 'same-origin']) expect((await look(site, userCode)).status).toBe(200);
});

test('check 23: MCP is never opened by a cookie', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const { status, headers } = await browser.post('/mcp', message, {
    accept: 'application/json, text/event-stream',
  });
  expect(status).toBe(401);
  expect(headers.get('www-authenticate')).toContain('resource_metadata=');
});

test('check 23: a cookie does not speak where Authorization does', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const wrong = { authorization: `Bearer sk_${newSecret()}` };
  expect((await browser.call('GET', '/api/v1/whoami', undefined, wrong)).status).toBe(401);
  const token = await api.token(['skills:read']);
  const { json } = await browser.call('GET', '/api/v1/whoami', undefined, {
    authorization: `Bearer ${token}`,
  });
  expect(json.type).toBe('token');
});

test('check 23: over https the cookie is of this host alone, and one that a sub-domain set is none', async () => {
  const api = await openTestApi();
  const far = new Browser(api, FAR);
  const asked = await far.post('/auth/setup/options', { token: await ownerLink(api) });
  expect(asked.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-repertoire-login=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=300$/,
    ),
  ]);
  const made = await far.setUp(await ownerLink(api));
  expect(made.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-repertoire=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=2592000$/,
    ),
    '__Host-repertoire-login=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
  ]);
  expect(await far.isSignedIn()).toBe(true);

  const secret = far.cookies.get('__Host-repertoire') ?? '';
  const tossed = new Browser(api, FAR);
  tossed.cookies.set('repertoire', secret);
  expect(await tossed.isSignedIn()).toBe(false);
});

test('check 23: on this machine the prefix and Secure go from the cookie, and nothing else', async () => {
  const api = await openTestApi();
  const near = new Browser(api);
  const made = await near.setUp(await ownerLink(api));
  expect(made.headers.getSetCookie()[0]).toMatch(
    /^repertoire=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
  );
  // Plain http elsewhere is not this machine.
  const plain = new Browser(api, 'http://registry.example', new Authenticator('http://registry.example'));
  const { headers } = await plain.post('/auth/login/options');
  expect(headers.getSetCookie()[0]).toContain('__Host-repertoire-login=');
});

test('check 23: of two cookies with one name, one is somebody else’s: neither counts', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const secret = browser.cookies.get('repertoire');
  const [ours, theirs] = [`repertoire=${secret}`, `repertoire=${newSecret()}`];
  for (const cookie of [`${ours}; ${theirs}`, `${theirs}; ${ours}`])
    expect((await browser.call('GET', '/api/v1/whoami', undefined, { cookie })).status).toBe(401);
});

test('sessions are listed with their browser and end when revoked', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const phone = new Browser(api, undefined, browser.authenticator);
  await phone.logIn();
  const { json } = await browser.call('GET', '/api/v1/sessions');
  expect(json.sessions).toHaveLength(2);
  expect(json.sessions.find(({ current }: { current: boolean }) => current)).toMatchObject({
    browser: 'Firefox on Linux',
    place: 'a test',
    method: 'passkey',
    created_at: api.clock.now,
    last_used_at: api.clock.now,
    expires_at: api.clock.now + 7 * DAY_MS,
  });
  const other = json.sessions.find(({ current }: { current: boolean }) => !current).id;
  expect((await browser.call('DELETE', `/api/v1/sessions/${other}`)).status).toBe(204);
  expect(await phone.isSignedIn()).toBe(false);
  expect((await browser.call('DELETE', `/api/v1/sessions/${other}`)).status).toBe(204);
  expect((await browser.call('DELETE', '/api/v1/sessions/current')).status).toBe(204);
  expect(browser.cookies.has('repertoire')).toBe(false);
  expect(
    (await api.call('/api/v1/sessions/current', { method: 'DELETE', token: await api.token() })).status,
  ).toBe(404);
});

test('a session that is ended by many at once is one event', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const phone = new Browser(api, undefined, browser.authenticator);
  await phone.logIn();
  const { json } = await browser.call('GET', '/api/v1/sessions');
  const other = json.sessions.find(({ current }: { current: boolean }) => !current).id;
  const path = `/api/v1/sessions/${other}`;
  await Promise.all(Array.from({ length: 6 }, () => browser.call('DELETE', path)));
  expect(await phone.isSignedIn()).toBe(false);
  const { events } = (await browser.call('GET', '/api/v1/events')).json;
  expect(events.filter(({ type }: { type: string }) => type === 'session_revoked')).toHaveLength(1);
});

test('a session that ends while it ends another ends nothing', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const thief = new Browser(api, undefined, browser.authenticator);
  await thief.logIn();
  const { json } = await browser.call('GET', '/api/v1/sessions');
  const [mine, theirs] = [true, false].map(
    (is) => json.sessions.find(({ current }: { current: boolean }) => current === is).id,
  );
  let trips = 0;
  api.database.send = async (send) => {
    // Between the look-up of the session that it names and the write.
    if (++trips === 3) {
      api.database.send = (next) => next();
      await browser.call('DELETE', `/api/v1/sessions/${theirs}`);
    }
    return send();
  };
  expect((await thief.call('DELETE', `/api/v1/sessions/${mine}`)).status).toBe(401);
  expect(await browser.isSignedIn()).toBe(true);
});

test('a session of another account is not there', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const stranger = await signedIn(api, await api.addAccount());
  const { status } = await browser.call('DELETE', `/api/v1/sessions/${stranger.id}`);
  expect(status).toBe(404);
  const [row] = await api.db.select().from(sessions).where(eq(sessions.id, stranger.id));
  expect(row?.revokedAt).toBeNull();
});

test('a signed-in test browser is a session, stale until it is made fresh', async () => {
  const api = await openTestApi();
  const { headers, fresh, stale } = await signedIn(api);
  const act = async () =>
    (await api.call(`${ORIGIN}/api/v1/recovery-codes`, { method: 'POST', headers })).status;
  expect(await act()).toBe(403);
  await fresh();
  expect(await act()).toBe(201);
  await stale();
  expect(await act()).toBe(403);
});
