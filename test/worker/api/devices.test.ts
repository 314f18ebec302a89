import { beforeEach, describe, expect, test } from 'vitest';
import { TestDevice } from '../device.ts';
import { ORIGIN, openTestApi, type TestApi } from './harness.ts';

let api: TestApi;

beforeEach(async () => {
  api = await openTestApi();
});

const list = (device: TestDevice, proof = {}, headers = {}) =>
  api.call('/api/v1/items', { device, proof, headers });

describe('check 26: a request with a proof', () => {
  test('passes, and its answer carries the nonce for the next one', async () => {
    const device = await api.pair();
    const used = device.nonce;
    api.clock.now += 1000;
    const { status, headers } = await list(device);
    expect(status).toBe(200);
    expect(headers.get('dpop-nonce')).not.toBe(used);
    for (let i = 0; i < 3; i++) {
      api.clock.now += 60_000;
      expect((await list(device)).status).toBe(200);
    }
  });

  test('without a nonce is told the one to use', async () => {
    const device = await api.pair();
    const { status, headers, problem } = await list(device, { nonce: null });
    expect([status, problem.code]).toEqual([401, 'unauthorized']);
    expect(headers.get('www-authenticate')).toMatch(/^DPoP error="use_dpop_nonce", algs="ES256", Bearer /);
    expect(headers.get('dpop-nonce')).toBe(problem.details?.nonce);
    expect((await list(device)).status).toBe(200);
  });

  test.each([-90, 90])('by a clock that is %i s off passes', async (skew) => {
    const device = await api.pair();
    device.skew = skew;
    expect((await list(device)).status).toBe(200);
  });

  test('is refused the second time', async () => {
    const device = await api.pair();
    expect((await list(device, { jti: 'one' })).status).toBe(200);
    const again = await list(device, { jti: 'one' });
    expect([again.status, again.problem.detail]).toEqual([
      401,
      'This DPoP proof was used before; sign a new one for each request.',
    ]);
  });

  test('is refused the second time also where both come at once', async () => {
    const device = await api.pair();
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => (await list(device, { jti: 'one' })).status),
    );
    expect(statuses.sort()).toEqual([200, ...Array(7).fill(401)]);
  });

  test.each([
    ['another URL', { url: `${ORIGIN}/api/v1/changes` }],
    ['another method', { method: 'POST' }],
    ['another token', { ath: 'fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo' }],
  ])('for %s is refused', async (_, proof) => {
    const device = await api.pair();
    const { status, headers } = await list(device, proof);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test('that is too old is refused', async () => {
    const device = await api.pair();
    const old = device.nonce;
    api.clock.now += 10 * 60_000 + 1;
    expect((await list(device, { nonce: old })).headers.get('www-authenticate')).toContain('use_dpop_nonce');
  });

  test('by another key than the one that the token is bound to is refused', async () => {
    const device = await api.pair();
    const thief = await api.pair();
    thief.token = device.token;
    expect((await list(thief)).status).toBe(401);
    expect((await list(device)).status).toBe(200);
  });
});

test('an access token lives ten minutes, and the key buys the next one', async () => {
  const device = await api.pair();
  api.clock.now += 600_000;
  expect((await list(device, { nonce: device.nonce })).status).toBe(401);
  device.token = null;
  const { json } = await api.call('/api/v1/devices/token', { method: 'POST', device });
  expect(json).toMatchObject({ token_type: 'DPoP', expires_in: 600 });
  device.token = json.access_token;
  expect((await list(device)).status).toBe(200);
});

test('a key that is not paired gets no token', async () => {
  const stranger = await TestDevice.make();
  await api.call('/api/v1/devices/token', { method: 'POST', device: stranger });
  const { status, problem } = await api.call('/api/v1/devices/token', { method: 'POST', device: stranger });
  expect([status, problem.detail]).toEqual([401, 'No device with this key is paired here; pair it first.']);
});

describe('revoking', () => {
  test("ends the device's access at once, is told to the push room, and can be repeated", async () => {
    const device = await api.pair();
    const token = await api.token();
    for (let i = 0; i < 2; i++)
      expect((await api.call(`/api/v1/devices/${device.id}`, { method: 'DELETE', token })).status).toBe(204);
    expect(api.push.told).toMatchObject([{ revoked: device.id }, { revoked: device.id }]);
    expect((await list(device)).status).toBe(401);
    device.token = null;
    const { status, problem } = await api.call('/api/v1/devices/token', { method: 'POST', device });
    expect([status, problem.detail]).toEqual([401, 'This device was revoked; pair it again to use it.']);
    const { json } = await api.call('/api/v1/devices', { token });
    expect(json.devices).toMatchObject([{ id: device.id, revoked_at: api.clock.now }]);
  });

  test('is what a device may do to itself, and to no other', async () => {
    const [device, other] = [await api.pair(), await api.pair()];
    const revoke = (id: string) => api.call(`/api/v1/devices/${id}`, { method: 'DELETE', device });
    expect((await revoke(other.id)).status).toBe(403);
    expect((await revoke('self')).status).toBe(204);
    expect((await list(device)).status).toBe(401);
    expect((await list(other)).status).toBe(200);
  });
});

test('a report is kept and shown, wish and fact apart', async () => {
  const device = await api.pair();
  const token = await api.token();
  const { json: written } = await api.call('/api/v1/items', {
    method: 'POST',
    token,
    body: { kind: 'skill', name: 'a', description: 'A.', instructions: 'A.' },
  });
  const { id, digest } = written.item;
  const item = { item: id, kind: 'skill', name: 'a', revision: 1, digest };
  const report = {
    cursor: written.cursor,
    agent_version: '1.0',
    folders: [
      {
        path: '/home/a/.claude/skills',
        kind: 'skill',
        clients: ['claude-code'],
        state: 'written',
        items: [{ ...item, state: 'held_back', message: 'A folder of yours has this name.' }],
        gone: [],
        complete: true,
      },
    ],
    dropped: [],
    events: [
      { id: 'e1', item: id, kind: 'skill', name: 'a', action: 'wrote', revision: 1, replaced: null, at: 5 },
    ],
  };
  const send = () => api.call('/api/v1/devices/self/report', { method: 'PUT', device, body: report });
  expect([(await send()).status, (await send()).status]).toEqual([204, 204]);

  api.push.online = [device.id];
  const { json } = await api.call('/api/v1/devices', { token });
  expect(json.devices).toMatchObject([
    {
      id: device.id,
      online: true,
      cursor: written.cursor,
      folders: [{ counts: { held_back: 1 } }],
      exceptions: [{ name: 'a', state: 'held_back' }],
    },
  ]);
  const history = await api.call(`/api/v1/devices/${device.id}/history`, { token });
  expect(history.json).toEqual({ device: device.id, events: report.events });
  const ofItem = await api.call('/api/v1/items/skill/a/history', { token });
  expect(ofItem.json.devices).toMatchObject([
    { device: device.id, device_name: 'laptop', state: 'held_back' },
  ]);
});

test('the socket is opened for a device, as the device that it proves to be', async () => {
  const device = await api.pair();
  const forged = { upgrade: 'websocket', 'x-repertoire-device': 'other' };
  const { json } = await api.call('/api/v1/push', { device, headers: forged });
  expect(json.bell).toEqual({
    device: device.id,
    thumbprint: device.thumbprint,
    expiresAt: api.clock.now + 3_600_000,
    place: 'a test',
    since: api.clock.now,
  });
  expect((await api.call('/api/v1/push', { device })).problem.code).toBe('invalid_input');
});

test('check 28: one key on two machines is an event that names both, once an hour', async () => {
  const device = await api.pair();
  const connect = () => api.call('/api/v1/push', { device, headers: { upgrade: 'websocket' } });
  const events = async () => {
    await api.settle();
    const { json } = await api.call('/api/v1/events', { token: await api.token() });
    return json.events.filter(({ type }: { type: string }) => type === 'key_on_two_machines');
  };
  await connect();
  expect(await events()).toEqual([]);
  const since = api.clock.now - 90_000;
  const { id, thumbprint } = device;
  api.push.older = { device: id, thumbprint, expiresAt: since + 3_600_000, place: '203.0.113.7 (FR)', since };
  for (let i = 0; i < 3; i++) await connect();
  expect(await events()).toEqual([
    {
      id: expect.any(String),
      at: api.clock.now,
      type: 'key_on_two_machines',
      details: {
        device: id,
        name: 'laptop',
        place: 'a test',
        since: new Date(api.clock.now).toISOString(),
        other_place: '203.0.113.7 (FR)',
        other_since: new Date(since).toISOString(),
      },
    },
  ]);
  api.clock.now += 3_600_000;
  await api.call('/api/v1/devices/token', { method: 'POST', device, proof: { ath: null, nonce: null } });
  const { json } = await api.call('/api/v1/devices/token', { method: 'POST', device, proof: { ath: null } });
  device.token = json.access_token;
  await connect();
  expect(await events()).toHaveLength(2);
});
