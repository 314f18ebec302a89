import { beforeEach, describe, expect, test } from 'vitest';
import { DeviceList } from '../../../schema/api.ts';
import { placeOf } from '../../../worker/api/place.ts';
import { codeMisses, deviceEvents, deviceTokens, pairings, proofs } from '../../../worker/db/tables.ts';
import { TestDevice } from '../device.ts';
import { openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
});

const create = (name: string) =>
  api.call('/api/v1/items', {
    method: 'POST',
    token,
    body: { kind: 'skill', name, description: 'A.', instructions: 'A.' },
  });

test('a cursor beyond what any registry counts to is one from the future', async () => {
  const { json } = await create('a');
  const [epoch] = json.cursor.split(':');
  for (const seq of ['2', '9007199254740993', '9'.repeat(400)]) {
    const { problem } = await api.call(`/api/v1/changes?since=${epoch}:${seq}`, { token });
    expect(problem).toMatchObject({ code: 'registry_rewound', details: { cursor: json.cursor } });
  }
});

describe('a report', () => {
  const report = { cursor: null, agent_version: '1', folders: [], dropped: [], events: [] };
  const folder = { kind: 'skill', clients: [], state: 'written', items: [], gone: [], complete: true };

  test('by another life of the registry, or from its future, moves no cursor', async () => {
    const device = await api.pair();
    const { json } = await create('a');
    const [epoch] = json.cursor.split(':');
    const shown = async (cursor: string) => {
      const body = { ...report, cursor };
      expect((await api.call('/api/v1/devices/self/report', { method: 'PUT', device, body })).status).toBe(
        204,
      );
      const list = DeviceList.parse((await api.call('/api/v1/devices', { token })).json);
      return list.devices[0]?.cursor;
    };
    expect(await shown('other:1')).toBeNull();
    expect(await shown(json.cursor)).toBe(json.cursor);
    for (const cursor of [
      'other:0',
      `${epoch}:2`,
      `${epoch}:${'9'.repeat(30)}`,
      `${epoch}:${'9'.repeat(400)}`,
    ])
      expect(await shown(cursor)).toBe(json.cursor);
  });

  test('of more folders than any device has is refused before it costs anything', async () => {
    const device = await api.pair();
    const paths = Array.from({ length: 501 }, (_, i) => `/${i}`);
    for (const body of [
      { ...report, dropped: paths },
      { ...report, folders: paths.map((path) => ({ ...folder, path })) },
    ]) {
      const { status, problem } = await api.call('/api/v1/devices/self/report', {
        method: 'PUT',
        device,
        body,
      });
      expect([status, problem.code]).toEqual([413, 'too_large']);
    }
  });

  test('drops many folders at once', async () => {
    const device = await api.pair();
    const send = (body: object) =>
      api.call('/api/v1/devices/self/report', { method: 'PUT', device, body: { ...report, ...body } });
    const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
    await send({ folders: paths.map((path) => ({ ...folder, path })) });
    await send({ dropped: paths.slice(1) });
    const { json } = await api.call('/api/v1/devices', { token });
    expect(json.devices[0].folders).toMatchObject([{ path: '/0' }]);
  });

  test('leaves of what a device did the last 5,000 and what came with them', async () => {
    const device = await api.pair();
    const send = async (from: number, n: number) => {
      api.clock.now++;
      const events = Array.from({ length: n }, (_, i) => ({
        id: `e${from + i}`,
        item: 'x',
        kind: 'skill',
        name: 'a',
        action: 'wrote',
        revision: 1,
        replaced: null,
        at: 0,
      }));
      const body = { ...report, events };
      await api.call('/api/v1/devices/self/report', { method: 'PUT', device, body });
    };
    await send(0, 1000);
    await send(1000, 4500);
    expect(await api.db.$count(deviceEvents)).toBe(5500);
    await send(5500, 1000);
    expect(await api.db.$count(deviceEvents)).toBe(5500);
    const { json } = await api.call(`/api/v1/devices/${device.id}/history`, { token });
    expect(json.events).toHaveLength(200);
  });
});

describe('pairing', () => {
  const ask = (device: TestDevice, nonce: string | null, body = { name: 'laptop', platform: 'linux' }) =>
    api.call('/api/v1/pairings', { method: 'POST', device, proof: { nonce }, body });

  test('of many requests at once from one place twenty wait', async () => {
    const { nonce } = await api.pair();
    const devices = await Promise.all(Array.from({ length: 30 }, () => TestDevice.make()));
    const answers = await Promise.all(devices.map((device) => ask(device, nonce)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(answers.filter(({ problem }) => problem.code === 'rate_limited')).toHaveLength(10);
  });

  test('of many guesses at once five count, and none of a caller that may not approve', async () => {
    const { nonce } = await api.pair();
    const { json } = await ask(await TestDevice.make(), nonce);
    const reader = await api.token(['skills:read']);
    const guess = (i: number, by: string) =>
      api.call(`/api/v1/pairings/BBBBBB${'BCDFGHJKLM'[i]}B`, { token: by });
    const ten = Array.from({ length: 10 }, (_, i) => i);
    const refused = await Promise.all(ten.map((i) => guess(i, reader)));
    expect(refused.every(({ status }) => status === 403)).toBe(true);
    expect(await api.db.$count(codeMisses)).toBe(0);
    const codes = (await Promise.all(ten.map((i) => guess(i, token)))).map(({ problem }) => problem.code);
    expect(codes.filter((code) => code === 'not_found')).toHaveLength(5);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(5);
    expect((await api.call(`/api/v1/pairings/${json.user_code}`, { token })).status).toBe(429);
    expect(await api.db.$count(codeMisses)).toBe(5);
    api.clock.now += 600_000;
    await guess(0, token);
    expect(await api.db.$count(codeMisses)).toBe(1);
  });

  test.each(['lap\r\ntop', 'lap\u001b[2Jtop', 'lap\u202Etop', 'lap\uD800top', 'lap\u2028top'])(
    'under the name %j is refused: a person reads it before approving',
    async (name) => {
      const { nonce } = await api.pair();
      for (const body of [
        { name, platform: 'linux' },
        { name: 'laptop', platform: name },
      ]) {
        const { status, problem } = await ask(await TestDevice.make(), nonce, body);
        expect([status, problem.code]).toEqual([400, 'invalid_input']);
      }
    },
  );

  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [null, 'unknown address'],
  ])('from %s counts for the place %s', (address, place) => {
    const headers = new Headers(address === null ? {} : { 'cf-connecting-ip': address });
    expect(placeOf(new Request('http://a', { headers }))).toBe(place);
  });
});

test('what strangers with keys leave behind is forgotten once it is worth nothing', async () => {
  const device = await api.pair();
  await api.pair();
  const start = api.clock.now;
  const sizes = () => Promise.all([proofs, deviceTokens, pairings].map((table) => api.db.$count(table)));
  const [before = 0] = await sizes();
  expect(before).toBeGreaterThan(5);
  api.clock.now = start + 3_600_000;
  const stranger = await TestDevice.make();
  await api.call('/api/v1/devices/token', { method: 'POST', device: stranger });
  await api.call('/api/v1/devices/token', { method: 'POST', device: stranger });
  expect((await sizes())[0]).toBe(1);
  device.token = null;
  device.nonce = stranger.nonce;
  await api.call('/api/v1/devices/token', { method: 'POST', device });
  await api.call('/api/v1/pairings', { method: 'POST', device, body: { name: 'a', platform: 'b' } });
  expect(await sizes()).toEqual([3, 1, 1]);
});
