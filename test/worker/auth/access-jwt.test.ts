import { generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import { accountEvents, identities, sessions } from '../../../worker/db/tables/people.ts';
import { openTestApi, type TestApi } from '../api/harness.ts';
import { Browser } from './browser.ts';
import { type Forgery, fetchFrom, TestIssuer } from './issuer.ts';
import { openOwner } from './owner.ts';

const TEAM = 'https://team.cloudflareaccess.com';
const OTHER_TEAM = 'https://other.cloudflareaccess.com';
const AUDIENCE = 'aud-tag-of-the-application';

interface World {
  api: TestApi;
  team: TestIssuer;
  other: TestIssuer;
  owner: Browser;
  accountId: string;
}

/** A registry behind the Access application of a team, with an owner who has a fresh passkey check. */
async function open(): Promise<World> {
  let now = () => Date.now();
  const team = await TestIssuer.open(TEAM, () => now());
  const other = await TestIssuer.open(OTHER_TEAM, () => now());
  const access = { issuer: TEAM, audience: AUDIENCE };
  const api = await openTestApi({ signIn: { oidc: null, access, fetch: fetchFrom(team, other) } });
  now = () => api.clock.now;
  const { session, browser: owner } = await openOwner(api);
  return { api, team, other, owner, accountId: session.accountId };
}

/** What Access adds to a request that it lets through. */
async function vouched(team: TestIssuer, forgery: Forgery = {}): Promise<Record<string, string>> {
  team.forgery = forgery;
  const jwt = await team.sign({ aud: [AUDIENCE], type: 'app' });
  return { 'cf-access-jwt-assertion': jwt };
}

async function link({ owner, team }: World): Promise<void> {
  const linked = await owner.post('/auth/access', { link: true }, await vouched(team));
  expect(linked.status, linked.text).toBe(204);
}

function rows({ db }: TestApi) {
  return db.batch([
    db.select().from(sessions),
    db.select().from(identities),
    db.select().from(accountEvents),
  ]);
}

test('whom Access vouches for is signed in once the owner has linked them', async () => {
  const world = await open();
  const { api, team, accountId } = world;
  const stranger = new Browser(api);
  const unknown = await stranger.post('/auth/access', {}, await vouched(team));
  expect([unknown.status, unknown.problem.detail]).toEqual([
    403,
    expect.stringContaining('is linked to no account here'),
  ]);

  await link(world);
  expect((await stranger.post('/auth/access', {}, await vouched(team))).status).toBe(204);
  expect(await stranger.isSignedIn()).toBe(true);
  expect(await api.db.select().from(identities)).toMatchObject([
    { issuer: TEAM, subject: 'subject-1', name: 'ada@example.com', accountId },
  ]);
  const opened = (await api.db.select().from(sessions)).find(({ method }) => method === 'access');
  expect(opened).toMatchObject({ accountId, verifiedAt: null });

  const again = await stranger.post('/auth/access', { link: true }, await vouched(team));
  expect(again.problem.code).toBe('passkey_required');
});

const FORGERIES: Record<string, Forgery> = {
  'another application': { claims: { aud: ['aud-tag-of-another'] } },
  'no application': { claims: { aud: undefined } },
  'the issuer of another team': { claims: { iss: OTHER_TEAM } },
  'no issuer': { claims: { iss: undefined } },
  'an exp that is over': { claims: { exp: 1 } },
  'no exp': { claims: { exp: undefined } },
  'no subject': { claims: { sub: undefined } },
  'the empty subject of a service token': { claims: { sub: '', common_name: 'service.access' } },
  'alg none': { alg: 'none' },
  'HS256 under the public key': { alg: 'HS256' },
  'PS256 in place of RS256': { alg: 'PS256' },
  'another subject of the same e-mail address': { claims: { sub: 'subject-2' } },
};

test.for(Object.entries(FORGERIES))(
  'check 22: an Access JWT with %s lets nobody in: no login, no merge, no row changed',
  async ([, forgery]) => {
    const world = await open();
    const { api, team } = world;
    await link(world);
    const before = await rows(api);
    const visitor = new Browser(api);
    const answer = await visitor.post('/auth/access', {}, await vouched(team, forgery));
    expect([answer.status, answer.problem.code]).toEqual([403, 'access_denied']);
    expect(await rows(api)).toEqual(before);
    expect(await visitor.isSignedIn()).toBe(false);
  },
);

test('check 22: an Access JWT of another team, of unknown keys, or none at all lets nobody in', async () => {
  const world = await open();
  const { api, team, other, owner } = world;
  await link(world);
  const before = await rows(api);
  const { privateKey } = await generateKeyPair('RS256');
  const headers = [
    await vouched(other),
    await vouched(other, { claims: { iss: TEAM } }),
    await vouched(team, { key: privateKey }),
    { 'cf-access-jwt-assertion': 'no.jwt.at-all' },
    { 'cf-access-jwt-assertion': '' },
    { 'cf-access-authenticated-user-email': 'ada@example.com' },
  ];
  for (const each of headers) {
    const visitor = new Browser(api);
    const answer = await visitor.post('/auth/access', {}, each);
    expect([answer.status, answer.problem.code]).toEqual([403, 'access_denied']);
    expect((await owner.post('/auth/access', { link: true }, each)).status).toBe(403);
  }
  expect(other.asked).toEqual([]);
  expect(await rows(api)).toEqual(before);
});

test('the header of Access is a credential at its own door alone, and asks for a page of our own', async () => {
  const world = await open();
  const { api, team } = world;
  await link(world);
  const before = await rows(api);
  const headers = await vouched(team);
  expect((await api.call('/api/v1/whoami', { headers })).status).toBe(401);
  const mcp = { ...headers, accept: 'application/json, text/event-stream' };
  expect((await api.call('/mcp', { method: 'POST', body: {}, headers: mcp })).status).toBe(401);
  for (const origin of [undefined, 'null', 'https://evil.example']) {
    const foreign = { ...headers, ...(origin === undefined ? {} : { origin }) };
    const answer = await api.call('/auth/access', { method: 'POST', body: {}, headers: foreign });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  }
  expect((await api.call('/auth/access', { headers })).status).toBe(405);
  expect(await rows(api)).toEqual(before);
});

test('the metadata that MCP clients read first is open to them, whatever Access is set to', async () => {
  const { api } = await open();
  expect((await api.call('/.well-known/oauth-protected-resource/mcp')).status).toBe(200);
  const mcp = await api.call('/mcp', { method: 'POST', body: {} });
  expect([mcp.status, mcp.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining('resource_metadata='),
  ]);
});

test('without a team, or without its keys, Access lets nobody in', async () => {
  const none = new Browser(await openTestApi());
  expect((await none.post('/auth/access', {})).status).toBe(404);
  const access = { issuer: TEAM, audience: AUDIENCE };
  const away = new Browser(await openTestApi({ signIn: { oidc: null, access, fetch: fetchFrom() } }));
  const answer = await away.post('/auth/access', {}, { 'cf-access-jwt-assertion': 'a.b.c' });
  expect([answer.status, answer.problem.code]).toEqual([503, 'unavailable']);
});
