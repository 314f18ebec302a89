import { beforeEach, describe, expect, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { fingerprintWords } from '../../../schema/fingerprint.ts';
import { TestDevice } from '../device.ts';
import { ORIGIN, openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let device: TestDevice;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  device = await TestDevice.make();
  token = await api.token();
  // The first answer brings the nonce.
  await api.call('/api/v1/pairings', { method: 'POST', device, body: {} });
});

interface Started {
  device_code: string;
  user_code: string;
}

async function start(by = device): Promise<Started> {
  const { status, json } = await api.call('/api/v1/pairings', {
    method: 'POST',
    device: by,
    proof: { nonce: device.nonce },
    body: { name: 'laptop', platform: 'linux x64' },
  });
  expect(status).toBe(201);
  return json;
}

const poll = ({ device_code }: Started, by = device, headers = {}) =>
  api.call('/api/v1/pairings/token', {
    method: 'POST',
    device: by,
    headers,
    proof: { nonce: device.nonce },
    body: { device_code },
  });

const settle = (how: 'approve' | 'deny', code: string, by = token) =>
  api.call(`/api/v1/pairings/${code}/${how}`, { method: 'POST', token: by });

test('a device asks, a person looks and approves, the device is paired once', async () => {
  const started = await start();
  expect(started).toMatchObject({
    user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
    verification_uri: `${ORIGIN}/pair`,
    verification_uri_complete: `${ORIGIN}/pair?code=${started.user_code}`,
    expires_in: 600,
    interval: 5,
  });
  const typed = started.user_code.toLowerCase().replace('-', ' ');
  const shown = await api.call(`/api/v1/pairings/${encodeURIComponent(typed)}`, { token });
  expect(shown.json).toEqual({
    user_code: started.user_code,
    name: 'laptop',
    platform: 'linux x64',
    fingerprint: fingerprintWords(device.thumbprint),
    place: 'a test',
    made_at: api.clock.now,
    state: 'pending',
  });
  expect((await settle('approve', started.user_code)).json.state).toBe('approved');
  expect((await poll(started)).json).toMatchObject({ name: 'laptop', account: 'test' });
  expect((await poll(started)).problem.code).toBe('expired_token');
});

test('of many polls at once one gets the device', async () => {
  const started = await start();
  await settle('approve', started.user_code);
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await poll(started)).status));
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
});

describe('check 25: a poll', () => {
  test('before approval is told to wait, and one that comes too fast to slow down', async () => {
    const started = await start();
    const first = await poll(started);
    expect([first.status, first.problem.code, first.headers.get('retry-after')]).toEqual([
      400,
      'authorization_pending',
      '5',
    ]);
    api.clock.now += 2000;
    expect((await poll(started)).problem).toMatchObject({ code: 'slow_down', details: { retry_after_s: 5 } });
    api.clock.now += 5000;
    expect((await poll(started)).problem.code).toBe('authorization_pending');
  });

  test('after denial is told so', async () => {
    const started = await start();
    expect((await settle('deny', started.user_code)).json.state).toBe('denied');
    expect((await poll(started)).problem.code).toBe('access_denied');
    expect((await settle('approve', started.user_code)).problem.code).toBe('expired_token');
  });

  test('after ten minutes is told that the code expired, and nobody can approve it', async () => {
    const started = await start();
    api.clock.now += 600_000;
    expect((await poll(started)).problem.code).toBe('expired_token');
    expect((await settle('approve', started.user_code)).problem.code).toBe('not_found');
  });

  test.each(['approve', 'deny'] as const)('that may wait hears at once of %s', async (how) => {
    const started = await start();
    const held = poll(started, device, { prefer: 'respond-async, wait=20' });
    expect((await settle(how, started.user_code)).status).toBe(200);
    const { status, problem } = await held;
    expect(how === 'approve' ? status : problem.code).toBe(how === 'approve' ? 200 : 'access_denied');
  });

  test('that may wait is answered in the end, and does not free the next one from its interval', async () => {
    const started = await start();
    const wait = { prefer: 'wait=1' };
    expect((await poll(started, device, wait)).problem.code).toBe('authorization_pending');
    expect((await poll(started, device, wait)).problem.code).toBe('slow_down');
    api.clock.now += 5000;
    expect((await poll(started, device, wait)).problem.code).toBe('authorization_pending');
  });

  test('by another key gets nothing', async () => {
    const started = await start();
    await settle('approve', started.user_code);
    const thief = await TestDevice.make();
    for (const wait of [{}, { prefer: 'wait=20' }])
      expect((await poll(started, thief, wait)).problem.code).toBe('expired_token');
    expect((await poll(started)).status).toBe(200);
  });
});

describe('a code', () => {
  test('that one account settled is unknown to another', async () => {
    const started = await start();
    const stranger = await api.token(Scope.options, await api.addAccount());
    await settle('approve', started.user_code);
    for (const how of ['approve', 'deny'] as const)
      expect((await settle(how, started.user_code, stranger)).problem.code).toBe('not_found');
    expect((await poll(started)).status).toBe(200);
  });

  test('is approved by one of two who do so at once', async () => {
    const started = await start();
    const stranger = await api.token(Scope.options, await api.addAccount());
    const answers = await Promise.all([
      settle('approve', started.user_code),
      settle('approve', started.user_code, stranger),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await poll(started)).status).toBe(200);
  });

  test.each(['BBBB', 'BBBB-BBBB-B', '1234-5678'])('cannot be %s, which counts as no guess', async (typed) => {
    const started = await start();
    for (let i = 0; i < 5; i++) {
      const { code, detail } = (await settle('approve', typed)).problem;
      expect([code, detail]).toEqual([
        'not_found',
        expect.stringContaining('eight letters, such as BCDF-GHJK'),
      ]);
    }
    expect((await settle('approve', started.user_code)).status).toBe(200);
  });

  test('typed wrongly five times locks the account for ten minutes, and no other', async () => {
    const started = await start();
    for (let i = 0; i < 5; i++) expect((await settle('approve', 'BBBB-BBBB')).problem.code).toBe('not_found');
    const locked = await settle('approve', started.user_code);
    expect([locked.status, locked.problem.code, locked.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '600',
    ]);
    const stranger = await api.token(Scope.options, await api.addAccount());
    expect((await api.call(`/api/v1/pairings/${started.user_code}`, { token: stranger })).status).toBe(200);
    api.clock.now += 600_000;
    const later = await start();
    expect((await settle('approve', later.user_code)).status).toBe(200);
  });
});

test('a key that is paired already is not paired again', async () => {
  const first = await start();
  await settle('approve', first.user_code);
  const second = await start();
  expect((await settle('approve', second.user_code)).problem.code).toBe('access_denied');
});

test('more than twenty requests that wait from one place are refused', async () => {
  for (let i = 0; i < 20; i++) await start(await TestDevice.make());
  const refused = await api.call('/api/v1/pairings', {
    method: 'POST',
    device,
    body: { name: 'laptop', platform: 'linux' },
  });
  expect([refused.status, refused.problem.code]).toEqual([429, 'rate_limited']);
});
