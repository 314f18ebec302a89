import { generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import { accountEvents, identities, passkeys, sessions } from '../../../worker/db/tables/people.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import { type Answer, ORIGIN, openTestApi, type TestApi } from '../api/harness.ts';
import { Browser } from './browser.ts';
import { CLIENT_ID, CLIENT_SECRET, type Forgery, fetchFrom, TestIssuer } from './issuer.ts';
import { openOwner } from './owner.ts';
import type { SignedIn } from './signed-in.ts';

const ISSUER = 'https://login.example';
const LINKED = { issuer: ISSUER, subject: 'subject-1', name: 'ada@example.com' };

interface World {
  api: TestApi;
  issuer: TestIssuer;
  /** A browser that is signed in by a passkey, checked just now. */
  owner: Browser;
  session: SignedIn;
  /** One that nobody has signed in with. */
  visitor: Browser;
}

async function open({ clientSecret = CLIENT_SECRET as string | null } = {}): Promise<World> {
  let now = () => Date.now();
  const issuer = await TestIssuer.open(ISSUER, () => now());
  const oidc = { issuer: `${ISSUER}/`, clientId: CLIENT_ID, clientSecret, name: 'Example' };
  const api = await openTestApi({ signIn: { oidc, access: null, fetch: fetchFrom(issuer) } });
  now = () => api.clock.now;
  const { session, browser: owner } = await openOwner(api);
  return { api, issuer, owner, session, visitor: new Browser(api) };
}

/** From our own page to the issuer, where the person agrees: the path that the browser comes back to. */
async function goThere({ issuer }: World, browser: Browser, query = ''): Promise<string> {
  const start = await browser.visit(`/auth/oidc/start${query}`);
  expect(start.status, start.text).toBe(302);
  return (await issuer.agree(start.headers.get('location') ?? '')).replace(ORIGIN, '');
}

/** As {@link goThere}, to link the login to the account of the browser. */
async function goToLink({ issuer }: World, browser: Browser): Promise<string> {
  const { status, text, json } = await browser.post('/auth/oidc/link', {});
  expect(status, text).toBe(200);
  return (await issuer.agree(json.url)).replace(ORIGIN, '');
}

async function thereAndBack(world: World, browser: Browser, query = '') {
  return browser.visit(await goThere(world, browser, query), { 'sec-fetch-site': 'cross-site' });
}

async function linkAndBack(world: World, browser: Browser) {
  return browser.visit(await goToLink(world, browser), { 'sec-fetch-site': 'cross-site' });
}

async function link(world: World): Promise<void> {
  const back = await linkAndBack(world, world.owner);
  expect(back.status, back.text).toBe(302);
}

/** All that a login could change. */
function rows({ db }: TestApi) {
  return db.batch([
    db.select().from(accounts),
    db.select().from(sessions),
    db.select().from(identities),
    db.select().from(passkeys),
    db.select().from(accountEvents),
  ]);
}

/** The page that says why not; empty where there is none. */
function refusal({ status, text }: Answer): string {
  return status >= 400 ? text : '';
}

test('a login that the owner linked with a fresh passkey signs them in, and no passkey was checked by that', async () => {
  const world = await open();
  await link(world);
  const back = await thereAndBack(world, world.visitor, '?return_to=/pair%3Fcode%3DBCDF-GHJK');
  expect([back.status, back.headers.get('location')]).toEqual([302, `${ORIGIN}/pair?code=BCDF-GHJK`]);
  expect(await world.visitor.isSignedIn()).toBe(true);

  const opened = await world.api.db.select().from(sessions);
  expect(opened.find(({ method }) => method === 'oidc')).toMatchObject({
    accountId: world.session.accountId,
    place: 'a test',
    verifiedAt: null,
  });
  expect(await world.api.db.select().from(identities)).toMatchObject([
    { ...LINKED, accountId: world.session.accountId, lastUsedAt: world.api.clock.now },
  ]);
  const events = (await world.owner.visit('/api/v1/events')).json?.events ?? [];
  const kept = await world.api.db.select().from(accountEvents);
  expect(kept.map(({ type }) => type)).toEqual(expect.arrayContaining(['identity_linked', 'signed_in']));
  expect(JSON.stringify([events, kept])).not.toContain('subject-1');

  const sensitive = await world.visitor.post('/auth/oidc/link', {});
  expect(refusal(sensitive)).toContain('needs your passkey');
});

test('a public client and one with a secret both get in, each by PKCE', async () => {
  const world = await open({ clientSecret: null });
  world.issuer.isPublic = true;
  await link(world);
  expect((await thereAndBack(world, world.visitor)).headers.get('location')).toBe(`${ORIGIN}/account`);
  expect(await world.visitor.isSignedIn()).toBe(true);
});

test('check 22: a login that is linked to no account is refused in one sentence and makes nothing', async () => {
  const world = await open();
  const before = await rows(world.api);
  const back = await thereAndBack(world, world.visitor);
  expect(refusal(back)).toContain('is linked to no account here; sign in with your passkey and link it');
  expect(back.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(await rows(world.api)).toEqual(before);
  expect(await world.visitor.isSignedIn()).toBe(false);
});

test('check 22: the same e-mail address with another subject, or from another issuer, is somebody else', async () => {
  const world = await open();
  await link(world);
  const before = await rows(world.api);
  world.issuer.person = { sub: 'subject-2', email: 'ada@example.com' };
  expect(refusal(await thereAndBack(world, world.visitor))).toContain('is linked to no account here');
  expect(await rows(world.api)).toEqual(before);

  await world.api.db.delete(identities);
  await world.api.db.insert(identities).values({
    ...LINKED,
    issuer: 'https://other.example',
    accountId: world.session.accountId,
    createdAt: 0,
  });
  world.issuer.person = { sub: 'subject-1', email: 'ada@example.com' };
  expect(refusal(await thereAndBack(world, world.visitor))).toContain('is linked to no account here');
  expect(await world.visitor.isSignedIn()).toBe(false);
});

const FORGERIES: Record<string, Forgery> = {
  'wrong iss': { claims: { iss: 'https://other.example' } },
  'no iss': { claims: { iss: undefined } },
  'wrong aud': { claims: { aud: 'another-client' } },
  'no aud': { claims: { aud: undefined } },
  'wrong nonce': { claims: { nonce: 'of another login' } },
  'no nonce': { claims: { nonce: undefined } },
  'no sub': { claims: { sub: undefined } },
  'empty sub': { claims: { sub: '' } },
  'an exp that is over': { claims: { exp: 1 } },
  'no exp': { claims: { exp: undefined } },
  'alg none': { alg: 'none' },
  'HS256 under the public key': { alg: 'HS256' },
};

test.for(Object.entries(FORGERIES))(
  'check 22: an ID token with %s is refused: no login, no merge, no row changed',
  async ([, forgery]) => {
    const world = await open();
    await link(world);
    const before = await rows(world.api);
    world.issuer.forgery = forgery;
    const back = await thereAndBack(world, world.visitor);
    expect(refusal(back)).toContain('did not vouch for you');
    const merge = await linkAndBack(world, world.owner);
    expect(refusal(merge)).toContain('did not vouch for you');
    expect(await rows(world.api)).toEqual(before);
    expect(await world.visitor.isSignedIn()).toBe(false);
  },
);

test("check 22: an ID token under a key that is not the issuer's is refused", async () => {
  const world = await open();
  await link(world);
  const { privateKey } = await generateKeyPair('RS256');
  world.issuer.forgery = { key: privateKey };
  const before = await rows(world.api);
  expect(refusal(await thereAndBack(world, world.visitor))).toContain('did not vouch for you');
  expect(await rows(world.api)).toEqual(before);
});

test('check 22: a wrong, absent, used or old state is refused before the issuer is asked', async () => {
  const world = await open();
  await link(world);
  const { api, visitor, issuer } = world;
  const before = await rows(api);
  const tokens = () => issuer.asked.filter((line) => line === 'POST /token').length;
  const asked = tokens();

  const right = await goThere(world, visitor);
  expect(refusal(await visitor.visit(right.replace(/state=[^&]+/, 'state=of-another')))).toContain(
    'did not vouch for you',
  );
  expect(refusal(await visitor.visit(right))).toContain('asked nothing that it could answer');
  const without = await goThere(world, visitor);
  expect(refusal(await visitor.visit(without.replace(/&?state=[^&]+/, '')))).toContain(
    'did not vouch for you',
  );
  const late = await goThere(world, visitor);
  api.clock.now += 5 * 60_000;
  expect(refusal(await visitor.visit(late))).toContain('asked nothing that it could answer');
  expect(tokens()).toBe(asked);
  expect(await rows(api)).toEqual(before);

  const once = await goThere(world, visitor);
  expect((await visitor.visit(once)).status).toBe(302);
  expect(refusal(await visitor.visit(once))).toContain('asked nothing that it could answer');
});

test('check 22: an answer that one browser asked for is worth nothing in another', async () => {
  const world = await open();
  await link(world);
  const before = await rows(world.api);
  const answer = await goThere(world, world.visitor);
  const other = new Browser(world.api);
  expect(refusal(await other.visit(answer))).toContain('asked nothing that it could answer');
  await goThere(world, other);
  expect(refusal(await other.visit(answer))).toContain('did not vouch for you');
  expect(await rows(world.api)).toEqual(before);
});

test('an issuer that refuses, answers nonsense or is not there lets nobody in, and its words reach no page', async () => {
  const world = await open();
  const { visitor } = world;
  const back = await goThere(world, visitor);
  const refused = back.replace(/code=[^&]+/, 'error=access_denied&error_description=%3Cscript%3E');
  const answer = await visitor.visit(refused);
  expect(refusal(answer)).toContain('did not vouch for you');
  expect(answer.text).not.toContain('script&gt;');
  const invented = (await goThere(world, visitor)).replace(/code=[^&]+/, 'code=invented');
  expect(refusal(await visitor.visit(invented))).toContain('did not vouch for you');

  const away = await openTestApi({
    signIn: {
      oidc: { issuer: 'https://gone.example/', clientId: CLIENT_ID, clientSecret: null, name: 'Gone' },
      access: null,
      fetch: fetchFrom(),
    },
  });
  const gone = await away.call('/auth/oidc/start');
  expect(refusal(gone)).toContain('Gone does not answer');
});

test('an issuer whose discovery document names another issuer is none', async () => {
  const world = await open();
  const oidc = { issuer: `${ISSUER}/tenant`, clientId: CLIENT_ID, clientSecret: null, name: 'Example' };
  const fetch = async () => Response.json({ issuer: ISSUER, authorization_endpoint: `${ISSUER}/authorize` });
  const api = await openTestApi({ signIn: { oidc, access: null, fetch } });
  expect(refusal(await api.call('/auth/oidc/start'))).toContain('does not answer as');
  expect(world.issuer.asked).toEqual([]);
});

test.for([
  'https://evil.example/',
  '//evil.example',
  '/\\evil.example',
  '/.//evil.example',
  'javascript:alert(1)',
  '',
])('after the login nobody is sent to another site: %j', async (target) => {
  const world = await open();
  await link(world);
  const query = `?return_to=${encodeURIComponent(target)}`;
  const to = (await thereAndBack(world, world.visitor, query)).headers.get('location') ?? '';
  expect(new URL(to).origin).toBe(ORIGIN);
});

test('a link on another site signs nobody in: it leads to the page where people do that themselves', async () => {
  const world = await open();
  await link(world);
  for (const site of ['cross-site', 'same-site']) {
    const start = await world.visitor.visit('/auth/oidc/start?return_to=/pair', { 'sec-fetch-site': site });
    const to = new URL(start.headers.get('location') ?? '', ORIGIN);
    expect([start.status, to.pathname, to.searchParams.get('next')]).toEqual([
      302,
      '/login',
      `${ORIGIN}/pair`,
    ]);
  }
  // What a login leads to is a GET: none of them links.
  expect((await world.owner.visit('/auth/oidc/link')).status).toBe(405);
});

test('a login is linked from our own page, by the person and with the passkey of now', async () => {
  const world = await open();
  const { owner, visitor, api, session } = world;
  const before = await rows(api);
  for (const origin of ['null', 'https://evil.example', 'http://localhost:8788'])
    expect(refusal(await owner.post('/auth/oidc/link', {}, { origin }))).toContain('not come from a page');
  expect(refusal(await visitor.post('/auth/oidc/link', {}))).toContain('not signed in');

  const answer = await goToLink(world, owner);
  await session.stale();
  const late = await owner.visit(answer);
  expect(refusal(late)).toContain('needs your passkey');
  expect(await api.db.select().from(identities)).toEqual([]);
  expect((await rows(api)).slice(2)).toEqual(before.slice(2));
});

test('a login that was to be linked to one account is not linked to another that signs in meanwhile', async () => {
  const world = await open();
  const { owner, api } = world;
  const answer = await goToLink(world, owner);
  const { session } = await openOwner(api, await api.addAccount());
  owner.cookies.set('repertoire', session.secret);
  expect(refusal(await owner.visit(answer))).toContain('not signed in to the account');
  expect(await api.db.select().from(identities)).toEqual([]);
});

test('a login opens one account: another cannot link it, and to link it again changes nothing', async () => {
  const world = await open();
  await link(world);
  const before = await world.api.db.select().from(identities);
  await link(world);
  const other = await openOwner(world.api, await world.api.addAccount());
  const answer = await linkAndBack(world, other.browser);
  expect(refusal(answer)).toContain('linked to another account');
  expect(await world.api.db.select().from(identities)).toEqual(before);
});

test('linked logins are listed and unlinked, which ends what they opened; the last way in stays', async () => {
  const world = await open();
  const { api, owner, visitor } = world;
  await link(world);
  await thereAndBack(world, visitor);
  const { json } = await owner.visit('/api/v1/identities');
  expect(json.identities).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      issuer: ISSUER,
      name: 'ada@example.com',
      created_at: api.clock.now,
      last_used_at: api.clock.now,
    },
  ]);
  const [{ id }] = json.identities;
  const unlink = (who: { token: string } | { headers: Record<string, string> }) =>
    api.call(`/api/v1/identities/${id}`, { method: 'DELETE', ...who });
  const cookie = (browser: Browser) => ({
    headers: { cookie: `repertoire=${browser.cookies.get('repertoire')}`, origin: ORIGIN },
  });

  expect((await unlink({ token: await api.token(['skills:read', 'skills:write']) })).status).toBe(403);
  expect((await unlink({ token: await api.token(undefined, await api.addAccount()) })).status).toBe(404);
  expect((await unlink(cookie(visitor))).problem.code).toBe('passkey_required');

  const kept = await api.db.select().from(passkeys);
  await api.db.delete(passkeys);
  const last = await unlink(cookie(owner));
  expect([last.status, last.problem.detail]).toEqual([409, expect.stringContaining('last way into')]);
  expect(await visitor.isSignedIn()).toBe(true);
  await api.db.insert(passkeys).values(kept);

  expect((await unlink(cookie(owner))).status).toBe(204);
  expect([await visitor.isSignedIn(), await owner.isSignedIn()]).toEqual([false, true]);
  expect((await unlink(cookie(owner))).status).toBe(404);
  expect(refusal(await thereAndBack(world, visitor))).toContain('is linked to no account here');
  const events = await api.db.select().from(accountEvents);
  expect(events.filter(({ type }) => type === 'identity_unlinked')).toHaveLength(1);
});

test('without an issuer there is nothing to sign in with, and too many tries wait', async () => {
  const none = await openTestApi();
  expect(refusal(await none.call('/auth/oidc/start'))).toContain('No identity provider');
  expect(refusal(await none.call('/auth/oidc/callback?code=a&state=b'))).toContain('No identity provider');

  const world = await open();
  const starts: Answer[] = [];
  for (let n = 0; n < 61; n++) starts.push(await world.visitor.visit('/auth/oidc/start'));
  expect(starts.at(59)?.status).toBe(302);
  expect(refusal(starts.at(60) as Answer)).toContain('too often');
});
