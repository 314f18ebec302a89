import { expect, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { passkeys, recoveryCodes } from '../../../worker/db/tables/people.ts';
import { openTestApi } from '../api/harness.ts';
import { Browser } from './browser.ts';
import { owner, ownerLink } from './owner.ts';

const LATER_MS = 5 * 60_000;

test('check 21: who lost the passkey gets in by a recovery code, once, and replaces it', async () => {
  const api = await openTestApi();
  const lost = await owner(api);
  const [code = ''] = lost.codes;
  api.clock.now += LATER_MS;

  const browser = new Browser(api);
  expect((await browser.post('/auth/login/recovery', { code })).status).toBe(204);
  const again = await new Browser(api).post('/auth/login/recovery', { code });
  expect([again.status, again.problem.code]).toEqual([403, 'access_denied']);

  // A code is no passkey: it opens nothing sensitive but the way to a new one.
  expect((await browser.post('/api/v1/recovery-codes')).problem.code).toBe('passkey_required');
  expect((await browser.addPasskey()).status).toBe(201);
  expect(
    (await browser.call('DELETE', `/api/v1/passkeys/${lost.authenticator.credentials[0]?.id}`)).status,
  ).toBe(204);
  expect((await browser.call('GET', '/api/v1/passkeys')).json).toMatchObject({
    passkeys: [{ name: 'another one' }],
    recovery_codes_left: 7,
  });
  expect((await new Browser(api, undefined, browser.authenticator).logIn()).status).toBe(204);
  expect((await new Browser(api, undefined, lost.authenticator).logIn()).status).toBe(403);
  const { json } = await browser.call('GET', '/api/v1/sessions');
  expect(json.sessions.map(({ method }: { method: string }) => method).sort()).toEqual([
    'passkey',
    'recovery',
  ]);
  expect(await lost.isSignedIn()).toBe(false);
});

test('check 21: who takes a lost passkey out signs out whoever has it, and nobody else stays fresh', async () => {
  const api = await openTestApi();
  const lost = await owner(api);
  const id = lost.authenticator.credentials[0]?.id;
  const desk = new Browser(api);
  await desk.post('/auth/login/recovery', { code: lost.codes[0] });
  await desk.addPasskey();
  const [thief, phone] = [lost, desk].map(
    ({ authenticator }) => new Browser(api, undefined, authenticator),
  ) as [Browser, Browser];
  await thief.logIn();
  await phone.logIn();
  // A session that another passkey opened may have been made fresh by the lost one.
  expect((await desk.call('DELETE', `/api/v1/passkeys/${id}`)).status).toBe(204);
  const inside = await Promise.all([lost, thief, phone, desk].map((browser) => browser.isSignedIn()));
  expect(inside).toEqual([false, false, true, true]);
  expect((await phone.post('/api/v1/recovery-codes')).problem.code).toBe('passkey_required');
  expect((await desk.post('/api/v1/recovery-codes')).status).toBe(201);
});

test('check 21: of two who take out the passkey of the other at once one stays in', async () => {
  const api = await openTestApi();
  let one: Browser = await owner(api);
  for (let round = 0; round < 10; round++) {
    const other = new Browser(api);
    other.cookies.set('repertoire', one.cookies.get('repertoire') ?? '');
    await other.addPasskey();
    other.cookies.clear();
    await other.logIn();
    const both = [one, other] as const;
    const [mine, theirs] = both.map(({ authenticator }) => authenticator.credentials[0]?.id);
    const answers = await Promise.all([
      one.call('DELETE', `/api/v1/passkeys/${theirs}`),
      other.call('DELETE', `/api/v1/passkeys/${mine}`),
    ]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    const inside = await Promise.all(both.map((browser) => browser.isSignedIn()));
    expect(inside).toEqual(answers.map(({ status }) => status === 204));
    one = inside[0] ? one : other;
    expect(await api.db.select({ id: passkeys.id }).from(passkeys)).toEqual([
      { id: one.authenticator.credentials[0]?.id },
    ]);
  }
});

test('check 21: a recovery session adds a passkey within the hour only', async () => {
  const api = await openTestApi();
  const { codes } = await owner(api);
  const browser = new Browser(api);
  await browser.post('/auth/login/recovery', { code: codes[0] });
  api.clock.now += 60 * 60_000;
  expect((await browser.addPasskey()).problem.code).toBe('passkey_required');
});

test('check 21: of many who type a code at once one gets in', async () => {
  const api = await openTestApi();
  const { codes } = await owner(api);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => new Browser(api).post('/auth/login/recovery', { code: codes[3] })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 403, 403, 403, 403, 403]);
});

test('check 21: a code is taken in as people type it', async () => {
  const api = await openTestApi();
  const { codes } = await owner(api);
  const sloppy = [
    (code: string) => code.toLowerCase(),
    (code: string) => code.replaceAll('-', ' '),
    (code: string) => ` ${code.replaceAll('-', '')} `,
    (code: string) => code.replaceAll('0', 'o').replaceAll('1', 'l'),
  ];
  for (const [i, typed] of sloppy.entries())
    expect(
      (await new Browser(api).post('/auth/login/recovery', { code: typed(codes[i] ?? '') })).status,
    ).toBe(204);
});

test('check 21: guesses are counted by place, right ones too', async () => {
  const api = await openTestApi();
  const { codes } = await owner(api);
  for (let n = 0; n < 10; n++) {
    const { problem } = await new Browser(api).post('/auth/login/recovery', { code: `GUESS-${n}` });
    expect(problem.code).toBe('access_denied');
  }
  const locked = await new Browser(api).post('/auth/login/recovery', { code: codes[0] });
  expect([locked.status, locked.problem.code]).toEqual([429, 'rate_limited']);
  api.clock.now += 60 * 60_000;
  expect((await new Browser(api).post('/auth/login/recovery', { code: codes[0] })).status).toBe(204);
});

test('check 21: new codes take the place of the old ones, and need a fresh passkey', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const { json, status } = await browser.post('/api/v1/recovery-codes');
  expect(status).toBe(201);
  expect(await api.db.select().from(recoveryCodes)).toHaveLength(8);
  expect((await new Browser(api).post('/auth/login/recovery', { code: browser.codes[0] })).status).toBe(403);
  expect((await new Browser(api).post('/auth/login/recovery', { code: json.recovery_codes[0] })).status).toBe(
    204,
  );
  api.clock.now += LATER_MS;
  expect((await browser.post('/api/v1/recovery-codes')).problem.code).toBe('passkey_required');
});

test('check 21: the last passkey stays, also of two removals at once', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const first = browser.authenticator.credentials[0]?.id ?? '';
  const only = await browser.call('DELETE', `/api/v1/passkeys/${first}`);
  expect([only.status, only.problem.code]).toEqual([409, 'conflict']);

  for (let round = 0; round < 10; round++) {
    expect((await browser.addPasskey()).status).toBe(201);
    const ids = (await api.db.select({ id: passkeys.id }).from(passkeys)).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    const answers = await Promise.all(ids.map((id) => browser.call('DELETE', `/api/v1/passkeys/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
  }
  expect(await api.db.select().from(passkeys)).toHaveLength(1);
});

test('passkeys are added, named and removed by a session with a fresh passkey only', async () => {
  const api = await openTestApi();
  const browser = await owner(api);
  const id = (await browser.addPasskey()).json.id;
  const path = `/api/v1/passkeys/${id}`;
  expect((await browser.call('PATCH', path, { name: ' the key\u202e ' })).problem.code).toBe('invalid_input');
  expect((await browser.call('PATCH', path, { name: ' the key ' })).json).toMatchObject({ name: 'the key' });

  api.clock.now += LATER_MS;
  const asked = await browser.post('/api/v1/passkeys/options');
  expect([asked.status, asked.problem.code]).toEqual([403, 'passkey_required']);
  expect((await browser.call('PATCH', path, { name: 'mine' })).problem.code).toBe('passkey_required');
  expect((await browser.call('DELETE', path)).problem.code).toBe('passkey_required');
  await browser.check();
  expect((await browser.call('DELETE', path)).status).toBe(204);
  expect((await browser.call('DELETE', path)).status).toBe(404);

  const token = await api.token(Scope.options);
  expect((await api.call('/api/v1/passkeys/options', { method: 'POST', token })).problem.code).toBe(
    'access_denied',
  );
  // By a code an API token would become a passkey, which outlives it.
  const codes = await api.call('/api/v1/recovery-codes', { method: 'POST', token });
  expect([codes.status, codes.problem.code]).toEqual([403, 'access_denied']);
  const weak = await api.token(['skills:read', 'skills:write']);
  for (const [method, where] of [
    ['GET', '/api/v1/passkeys'],
    ['GET', '/api/v1/sessions'],
    ['POST', '/api/v1/recovery-codes'],
    ['DELETE', '/api/v1/sessions/x'],
  ] as const)
    expect((await api.call(where, { method, token: weak })).problem.code).toBe('insufficient_scope');
  expect(
    (await api.call('/api/v1/invitations', { method: 'POST', token: weak, body: { name: 'x' } })).problem
      .code,
  ).toBe('insufficient_scope');
});

test('what happened to the access is there to be read', async () => {
  const api = await openTestApi();
  const browser = new Browser(api);
  const { json } = await browser.setUp(await ownerLink(api), { passkey_name: 'laptop' });
  await browser.addPasskey();
  await new Browser(api).post('/auth/login/recovery', { code: json.recovery_codes[0] });
  const answer = await browser.call('GET', '/api/v1/events');
  const types = answer.json.events.map(({ type }: { type: string }) => type).sort();
  expect(types).toEqual([
    'owner_made',
    'passkey_added',
    'passkey_added',
    'recovery_code_used',
    'recovery_codes_made',
    'signed_in',
    'signed_in',
  ]);
  expect(answer.text).toContain('laptop');
});
