import { count, eq } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { links, passkeys, recoveryCodes, sessions } from '../../../worker/db/tables/people.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import { makeOwnerLink, makeRecoveryLink } from '../../../worker/registry/links.ts';
import { openTestApi, type TestApi } from '../api/harness.ts';
import { Browser } from './browser.ts';
import { ownerLink } from './owner.ts';

const HOUR_MS = 60 * 60_000;

async function rows(api: TestApi) {
  const counted = async (table: typeof passkeys | typeof sessions | typeof recoveryCodes | typeof accounts) =>
    (await api.db.select({ n: count() }).from(table))[0]?.n;
  return {
    accounts: await counted(accounts),
    passkeys: await counted(passkeys),
    sessions: await counted(sessions),
    codes: await counted(recoveryCodes),
  };
}

test('an owner link makes a passkey, eight recovery codes and a session that is fresh', async () => {
  const api = await openTestApi();
  const browser = new Browser(api);
  const token = await ownerLink(api);

  const asked = await browser.post('/auth/setup/options', { token });
  expect(asked.json).toMatchObject({ type: 'owner', account: { name: 'test' } });
  expect(asked.json.options).toMatchObject({
    rp: { id: 'localhost', name: 'Repertoire' },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  const made = await browser.post('/auth/setup/finish', {
    token,
    account_name: ' Ada ',
    response: browser.authenticator.create(asked.json.options),
  });

  expect(made.status).toBe(200);
  expect(new Set(made.json.recovery_codes).size).toBe(8);
  for (const code of made.json.recovery_codes)
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/);
  expect(await rows(api)).toEqual({ accounts: 1, passkeys: 1, sessions: 1, codes: 8 });
  expect((await api.db.select({ name: accounts.name }).from(accounts))[0]?.name).toBe('Ada');
  expect((await browser.call('GET', '/api/v1/whoami')).json).toMatchObject({
    type: 'session',
    name: 'Firefox on Linux',
  });
  expect((await browser.call('GET', '/api/v1/passkeys')).json).toMatchObject({
    passkeys: [{ name: 'Firefox on Linux', synced: false }],
    recovery_codes_left: 8,
  });
  expect((await browser.post('/api/v1/recovery-codes')).status).toBe(201);
});

test('nothing of a link, a code or a session is kept as it was given', async () => {
  const api = await openTestApi();
  const browser = new Browser(api);
  const token = await ownerLink(api);
  const { json } = await browser.setUp(token);
  const kept = JSON.stringify([
    await api.db.select().from(links),
    await api.db.select().from(recoveryCodes),
    await api.db.select().from(sessions),
  ]);
  for (const secret of [token, ...json.recovery_codes, browser.cookies.get('repertoire')])
    expect(kept).not.toContain(secret);
});

test('check 18: a setup link works once', async () => {
  const api = await openTestApi();
  const token = await ownerLink(api);
  expect((await new Browser(api).setUp(token)).status).toBe(200);
  const before = await rows(api);

  const late = new Browser(api);
  const { status, problem } = await late.setUp(token);
  expect([status, problem.code]).toEqual([400, 'expired_token']);
  expect(problem.detail).toContain('was used already');
  expect(await rows(api)).toEqual(before);
  expect(late.cookies.has('repertoire')).toBe(false);
});

test('check 18: of many who open a setup link at once exactly one gets in', async () => {
  for (let round = 0; round < 10; round++) {
    const api = await openTestApi();
    const token = await ownerLink(api);
    const browsers = Array.from({ length: 6 }, () => new Browser(api));
    const asked = await Promise.all(
      browsers.map((browser) => browser.post('/auth/setup/options', { token })),
    );
    const answers = await Promise.all(
      browsers.map((browser, i) =>
        browser.post('/auth/setup/finish', {
          token,
          response: browser.authenticator.create(asked[i]?.json.options),
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
    expect(await rows(api)).toEqual({ accounts: 1, passkeys: 1, sessions: 1, codes: 8 });
  }
});

test('check 18: two owner links at once make one owner', async () => {
  const first = await openTestApi();
  const replaced = await ownerLink(first);
  await ownerLink(first);
  expect((await new Browser(first).setUp(replaced)).problem.detail).toContain('replaced');

  for (let round = 0; round < 10; round++) {
    const api = await openTestApi();
    const tokens = [await ownerLink(api)];
    const [link] = await api.db.select().from(links);
    // As if two had been made at the very same moment.
    tokens.push(await makeRecoveryLink(api.db, api.clock.now, link?.accountId ?? ''));
    await api.db.update(links).set({ type: 'owner' });

    const finish = tokens.map(async (token) => {
      const browser = new Browser(api);
      const { json } = await browser.post('/auth/setup/options', { token });
      const response = browser.authenticator.create(json.options);
      return () => browser.post('/auth/setup/finish', { token, response });
    });
    const answers = await Promise.all((await Promise.all(finish)).map((send) => send()));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await rows(api)).toEqual({ accounts: 1, passkeys: 1, sessions: 1, codes: 8 });
  }
});

test('check 18: a setup link is dead after an hour, also between question and answer', async () => {
  const api = await openTestApi();
  const token = await ownerLink(api);
  const browser = new Browser(api);
  api.clock.now += HOUR_MS - 60_000;
  const asked = await browser.post('/auth/setup/options', { token });
  api.clock.now += 60_000;
  const finish = await browser.post('/auth/setup/finish', {
    token,
    response: browser.authenticator.create(asked.json.options),
  });
  expect(finish.problem.detail).toContain('older than an hour');
  expect((await new Browser(api).setUp(token)).problem.code).toBe('expired_token');
  expect(await rows(api)).toMatchObject({ passkeys: 0, sessions: 0, codes: 0 });
});

test('check 18: an owner link is dead once there is an owner, and none is made then', async () => {
  const api = await openTestApi();
  const token = await ownerLink(api);
  const late = new Browser(api);
  const asked = await late.post('/auth/setup/options', { token });
  // Somebody became the owner by another way meanwhile.
  const [account] = await api.db.select({ id: accounts.id }).from(accounts);
  const recovery = await makeRecoveryLink(api.db, api.clock.now, account?.id ?? '');
  expect((await new Browser(api).setUp(recovery)).status).toBe(200);

  const finish = await late.post('/auth/setup/finish', {
    token,
    response: late.authenticator.create(asked.json.options),
  });
  expect(finish.problem.detail).toContain('has an owner');
  expect((await new Browser(api).setUp(token)).problem.detail).toContain('has an owner');
  expect(await makeOwnerLink(api.db, api.clock.now)).toBeNull();
  expect(await rows(api)).toMatchObject({ passkeys: 1 });
});

test('check 18: a passkey made for one link opens no other', async () => {
  const api = await openTestApi();
  const [account] = await api.db.select({ id: accounts.id }).from(accounts);
  const token = await ownerLink(api);
  const other = await makeRecoveryLink(api.db, api.clock.now, account?.id ?? '');
  const browser = new Browser(api);
  const asked = await browser.post('/auth/setup/options', { token });
  const response = browser.authenticator.create(asked.json.options);
  expect((await browser.post('/auth/setup/finish', { token: other, response })).problem.code).toBe(
    'expired_token',
  );
  expect(await rows(api)).toMatchObject({ passkeys: 0 });
});

test('check 21: a recovery link adds a passkey to the account and replaces its codes', async () => {
  const api = await openTestApi();
  const first = new Browser(api);
  const { json: before } = await first.setUp(await ownerLink(api));
  const [account] = await api.db.select({ id: accounts.id }).from(accounts);
  const token = await makeRecoveryLink(api.db, api.clock.now, account?.id ?? '');
  const second = new Browser(api);
  const { json: after } = await second.setUp(token);
  expect(await rows(api)).toMatchObject({ accounts: 1, passkeys: 2, codes: 8 });
  const code = (codes: string[]) => ({ code: codes[0] });
  expect((await new Browser(api).post('/auth/login/recovery', code(before.recovery_codes))).status).toBe(403);
  expect((await new Browser(api).post('/auth/login/recovery', code(after.recovery_codes))).status).toBe(204);
  const { json } = await second.call('GET', '/api/v1/passkeys');
  expect(json.passkeys).toHaveLength(2);
});

test('an invitation makes an account with a registry of its own, once', async () => {
  const api = await openTestApi();
  const host = new Browser(api);
  await host.setUp(await ownerLink(api));
  const invited = await host.post('/api/v1/invitations', { name: 'Grace' });
  expect(invited.status).toBe(201);
  const token = new URL(invited.json.url).hash.slice(1);
  expect(invited.json.url).toBe(`http://localhost:8787/setup#${token}`);

  const guests = [new Browser(api), new Browser(api)];
  const asked = await Promise.all(guests.map((guest) => guest.post('/auth/setup/options', { token })));
  expect(asked[0]?.json).toMatchObject({ type: 'invitation', account: null, name: 'Grace' });
  const answers = await Promise.all(
    guests.map((guest, i) =>
      guest.post('/auth/setup/finish', {
        token,
        response: guest.authenticator.create(asked[i]?.json.options),
      }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  expect(await rows(api)).toMatchObject({ accounts: 2, passkeys: 2 });
  const guest = guests[answers.findIndex(({ status }) => status === 200)] as Browser;
  const whoami = async (browser: Browser) => (await browser.call('GET', '/api/v1/whoami')).json.account_id;
  const id = await whoami(guest);
  expect(id).not.toBe(await whoami(host));
  expect(
    (await api.db.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, id)))[0]?.name,
  ).toBe('Grace');
  expect((await guest.call('GET', '/api/v1/passkeys')).json.passkeys).toHaveLength(1);
  expect(
    (await guest.call('DELETE', `/api/v1/passkeys/${host.authenticator.credentials[0]?.id}`)).status,
  ).toBe(404);
});

test('an invitation that nobody used is listed and taken back; one that was used is not', async () => {
  const api = await openTestApi();
  const host = new Browser(api);
  await host.setUp(await ownerLink(api));
  const tokens: string[] = [];
  for (const name of ['Grace', 'Ada']) {
    const { json } = await host.post('/api/v1/invitations', { name });
    tokens.push(new URL(json.url).hash.slice(1));
    api.clock.now += 1000;
  }
  const [forGrace = '', forAda = ''] = tokens;
  const open = async () => (await host.call('GET', '/api/v1/invitations')).json.invitations;
  const [ada, grace] = await open();
  expect([ada, grace]).toMatchObject([{ name: 'Ada' }, { name: 'Grace' }]);
  expect(JSON.stringify([ada, grace])).not.toContain(forGrace);

  const guest = new Browser(api);
  const asked = await guest.post('/auth/setup/options', { token: forGrace });
  expect((await host.call('DELETE', `/api/v1/invitations/${grace.id}`)).status).toBe(204);
  const response = guest.authenticator.create(asked.json.options);
  const late = await guest.post('/auth/setup/finish', { token: forGrace, response });
  expect([late.status, late.problem.detail]).toEqual([400, expect.stringContaining('taken back')]);

  const made = new Browser(api);
  expect((await made.setUp(forAda)).status).toBe(200);
  expect((await host.call('DELETE', `/api/v1/invitations/${ada.id}`)).status).toBe(404);
  expect(await made.isSignedIn()).toBe(true);
  expect(await open()).toEqual([]);
  await host.post('/api/v1/invitations', { name: 'Emmy' });
  api.clock.now += 60 * 60_000;
  expect(await open()).toEqual([]);
});

test('an invitation needs a fresh passkey', async () => {
  const api = await openTestApi();
  const host = new Browser(api);
  await host.setUp(await ownerLink(api));
  api.clock.now += 5 * 60_000;
  expect((await host.post('/api/v1/invitations', { name: 'Grace' })).problem.code).toBe('passkey_required');
  expect((await host.check()).status).toBe(204);
  expect((await host.post('/api/v1/invitations', { name: 'Grace' })).status).toBe(201);
});

test('a passkey that is registered here already is not taken into a second account', async () => {
  const api = await openTestApi();
  const host = new Browser(api);
  await host.setUp(await ownerLink(api));
  const { json } = await host.post('/api/v1/invitations', { name: 'Grace' });
  const token = new URL(json.url).hash.slice(1);
  const known = host.authenticator.credentials[0]?.id ?? '';
  await api.db.update(passkeys).set({ name: 'the host' });
  const guest = new Browser(api);
  const asked = await guest.post('/auth/setup/options', { token });
  const response = guest.authenticator.create(asked.json.options);
  // The credential id stands in the attested data, after 37 bytes, AAGUID and length.
  const attestation = Buffer.from(response.response.attestationObject, 'base64url');
  const at = attestation.indexOf(Buffer.from(response.id, 'base64url'));
  Buffer.from(known, 'base64url').copy(attestation, at);
  const forged = {
    ...response,
    id: known,
    rawId: known,
    response: { ...response.response, attestationObject: attestation.toString('base64url') },
  };
  const finish = await guest.post('/auth/setup/finish', { token, response: forged });
  expect([finish.status, finish.problem.code]).toEqual([409, 'conflict']);
  expect(await rows(api)).toMatchObject({ accounts: 1, passkeys: 1 });
});

test('a page that was opened by an IP address is told to use the host name', async () => {
  const api = await openTestApi();
  const token = await ownerLink(api);
  const { status, problem } = await new Browser(api, 'http://127.0.0.1:8787').post('/auth/setup/options', {
    token,
  });
  expect(status).toBe(400);
  expect(problem.detail).toContain('open http://localhost:8787');
});
