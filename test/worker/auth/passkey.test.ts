import { expect, test } from 'vitest';
import { challenges, passkeys, sessions } from '../../../worker/db/tables/people.ts';
import { openTestApi } from '../api/harness.ts';
import type { Tweaks } from './authenticator.ts';
import { Browser } from './browser.ts';
import { owner, ownerLink } from './owner.ts';

const FOREIGN: Readonly<Record<string, Tweaks>> = {
  'another origin': { origin: 'https://evil.example' },
  'another port': { origin: 'http://localhost:8788' },
  'another rpID': { rpId: 'evil.example' },
  'another challenge': { challenge: 'bm90IHdoYXQgd2FzIGFza2Vk' },
  'another type': { type: 'payment.get' },
  'a frame of another page': { crossOrigin: true },
  'its user not verified': { userVerified: false },
  'its user not there': { userVerified: false, userPresent: false },
};

const HOSTILE: Readonly<Record<string, Tweaks>> = {
  ...FOREIGN,
  'the type of a registration': { type: 'webauthn.create' },
  'a bad signature': { badSignature: true },
  'a counter that goes back': { counter: 0 },
  'a counter that stands still': { counter: 1 },
  'an unknown credential': { id: 'dW5rbm93bg' },
  'the user handle of another account': { userHandle: 'YW5vdGhlcg' },
};

test('check 19: a passkey logs in, and its use is noted', async () => {
  const api = await openTestApi();
  const first = await owner(api);
  const browser = new Browser(api, undefined, first.authenticator);
  api.clock.now += 60_000;
  const answer = await browser.logIn();
  expect([answer.status, answer.text]).toEqual([204, '']);
  expect(await browser.isSignedIn()).toBe(true);
  const [passkey] = await api.db.select().from(passkeys);
  expect(passkey).toMatchObject({ counter: 1, lastUsedAt: api.clock.now });
  // The check that it was makes the session fresh.
  expect((await browser.post('/api/v1/recovery-codes')).status).toBe(201);
});

test('check 19: an authenticator that does not count logs in again and again', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  authenticator.counts = false;
  for (let n = 0; n < 3; n++)
    expect((await new Browser(api, undefined, authenticator).logIn()).status).toBe(204);
});

for (const [what, tweaks] of Object.entries(HOSTILE)) {
  test(`check 19: a login with ${what} is refused`, async () => {
    const api = await openTestApi();
    const { authenticator } = await owner(api);
    expect((await new Browser(api, undefined, authenticator).logIn()).status).toBe(204);
    const before = [await api.db.select().from(passkeys), await api.db.select().from(sessions)];

    const browser = new Browser(api, undefined, authenticator);
    const { status, problem } = await browser.logIn(tweaks);
    expect([status, problem.code]).toEqual([403, 'access_denied']);
    expect(await browser.isSignedIn()).toBe(false);
    expect([await api.db.select().from(passkeys), await api.db.select().from(sessions)]).toEqual(before);
  });

  test(`check 19: a check with ${what} is refused`, async () => {
    const api = await openTestApi();
    const browser = await owner(api);
    expect((await browser.check()).status).toBe(204);
    api.clock.now += 5 * 60_000;
    expect((await browser.check(tweaks)).problem.code).toBe('access_denied');
    expect((await browser.post('/api/v1/recovery-codes')).problem.code).toBe('passkey_required');
  });
}

for (const [what, tweaks] of Object.entries({
  ...FOREIGN,
  'the type of a login': { type: 'webauthn.get' },
})) {
  test(`check 19: a registration with ${what} is refused`, async () => {
    const api = await openTestApi();
    const token = await ownerLink(api);
    const { status, problem } = await new Browser(api).setUp(token, {}, tweaks);
    expect([status, problem.code]).toEqual([403, 'access_denied']);
    expect(await api.db.select().from(passkeys)).toEqual([]);

    const browser = new Browser(api);
    expect((await browser.setUp(token)).status).toBe(200);
    expect((await browser.addPasskey(tweaks)).problem.code).toBe('access_denied');
    expect(await api.db.select().from(passkeys)).toHaveLength(1);
  });
}

test('check 19: an answer that was given once opens nothing a second time', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const browser = new Browser(api, undefined, authenticator);
  const { json } = await browser.post('/auth/login/options');
  const response = authenticator.get(json.options);
  const { headers } = browser;
  expect((await browser.post('/auth/login/finish', { response })).status).toBe(204);

  const thief = new Browser(api);
  expect((await thief.post('/auth/login/finish', { response }, headers)).problem.code).toBe('expired_token');
  await thief.post('/auth/login/options');
  expect((await thief.post('/auth/login/finish', { response })).problem.code).toBe('access_denied');
  expect(await thief.isSignedIn()).toBe(false);
});

test('check 19: a passkey that another one made for this site but never registered here is refused', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const known = authenticator.credentials[0]?.id ?? '';
  const stranger = new Browser(api);
  stranger.authenticator.create({
    rp: { id: 'localhost' },
    user: { id: authenticator.credentials[0]?.user },
    challenge: '',
  });
  expect((await stranger.logIn()).problem.detail).toContain('not known here');
  // Nor by saying that it is one that is.
  expect((await stranger.logIn({ id: known })).problem.code).toBe('access_denied');
});

test('check 19: a signature with the same count is good for one of two logins at once', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const browsers = Array.from({ length: 5 }, () => new Browser(api, undefined, authenticator));
  const answers = await Promise.all(browsers.map((browser) => browser.logIn({ counter: 7 })));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 403, 403, 403, 403]);
});

test('check 19: a passkey of another account does not make a session fresh', async () => {
  const api = await openTestApi();
  const host = await owner(api);
  const { json } = await host.post('/api/v1/invitations', { name: 'Grace' });
  const guest = new Browser(api);
  await guest.setUp(new URL(json.url).hash.slice(1));
  api.clock.now += 5 * 60_000;

  const asked = await host.post('/auth/check/options');
  expect(asked.json.options.allowCredentials).toHaveLength(1);
  const response = guest.authenticator.get(asked.json.options);
  const finish = await host.post('/auth/check/finish', { response });
  expect([finish.status, finish.problem.code]).toEqual([403, 'access_denied']);
  expect((await host.post('/api/v1/recovery-codes')).problem.code).toBe('passkey_required');
});

test('check 20: a challenge is used once, whether its answer was right or wrong', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const browser = new Browser(api, undefined, authenticator);
  const { json } = await browser.post('/auth/login/options');
  const finish = (tweaks: Tweaks = {}) =>
    browser.post('/auth/login/finish', { response: authenticator.get(json.options, tweaks) });
  expect((await finish({ badSignature: true })).problem.code).toBe('access_denied');
  expect((await finish()).problem.code).toBe('expired_token');

  const again = await browser.post('/auth/login/options');
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      browser.post('/auth/login/finish', { response: authenticator.get(again.json.options) }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 400, 400, 400, 400]);
});

test('check 20: a challenge belongs to the browser that was asked', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const asked = new Browser(api, undefined, authenticator);
  const { json } = await asked.post('/auth/login/options');
  const other = new Browser(api, undefined, authenticator);
  const response = authenticator.get(json.options);
  expect((await other.post('/auth/login/finish', { response })).problem.code).toBe('expired_token');
  // Nor does it do in another browser that was asked something itself.
  await other.post('/auth/login/options');
  expect((await other.post('/auth/login/finish', { response })).problem.code).toBe('access_denied');
  expect((await asked.post('/auth/login/finish', { response })).status).toBe(204);
});

test('check 20: a challenge for one thing does not do for another', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const { json } = await browser.post('/auth/login/options');
  const response = browser.authenticator.get(json.options);
  expect((await browser.post('/auth/check/finish', { response })).problem.code).toBe('expired_token');

  const second = new Browser(api, undefined, browser.authenticator);
  await second.logIn();
  const asked = await browser.post('/auth/check/options');
  const answer = browser.authenticator.get(asked.json.options);
  expect((await second.post('/auth/check/finish', { response: answer })).problem.code).toBe('expired_token');
});

test('check 20: what a browser is asked for one thing stays when it is asked for another', async () => {
  const api = await openTestApi();
  const token = await ownerLink(api);
  const browser = new Browser(api);
  const setup = await browser.post('/auth/setup/options', { token });
  await browser.post('/auth/login/options');
  const response = browser.authenticator.create(setup.json.options);
  const login = { response: browser.authenticator.get({ rpId: 'localhost', challenge: '' }) };
  expect((await browser.post('/auth/login/finish', login)).problem.code).toBe('access_denied');
  expect((await browser.post('/auth/setup/finish', { token, response })).status).toBe(200);
});

test('check 20: a challenge lives five minutes, and none stays behind', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const browser = new Browser(api, undefined, authenticator);
  const { json } = await browser.post('/auth/login/options');
  api.clock.now += 5 * 60_000;
  const response = authenticator.get(json.options);
  expect((await browser.post('/auth/login/finish', { response })).problem.code).toBe('expired_token');

  await new Browser(api).post('/auth/login/options');
  api.clock.now += 5 * 60_000;
  await new Browser(api).post('/auth/login/options');
  expect(await api.db.select().from(challenges)).toHaveLength(1);
});

test('check 20: questions from one place are limited', async () => {
  const api = await openTestApi();
  for (let n = 0; n < 100; n++) await new Browser(api).post('/auth/login/options');
  const { status, headers } = await new Browser(api).post('/auth/login/options');
  expect([status, headers.get('retry-after')]).toEqual([429, '600']);
  api.clock.now += 10 * 60_000;
  expect((await new Browser(api).post('/auth/login/options')).status).toBe(200);
});

test('answers of no shape that a passkey gives are refused as such', async () => {
  const api = await openTestApi();
  const { authenticator } = await owner(api);
  const browser = new Browser(api, undefined, authenticator);
  for (const clientDataJSON of ['', 'e30', 'bm8ganNvbg', 'bnVsbA']) {
    const { json } = await browser.post('/auth/login/options');
    const response = authenticator.get(json.options);
    response.response.clientDataJSON = clientDataJSON;
    expect((await browser.post('/auth/login/finish', { response })).status).toBe(403);
  }
  for (const response of [null, {}, { id: 'a' }, 'text', []])
    expect((await browser.post('/auth/login/finish', { response })).status).toBe(400);
});
