import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DeviceList } from '../../../schema/api.ts';
import { placeOf } from '../../../worker/api/place.ts';
import { requireLoopback } from '../../../worker/auth/loopback.ts';
import {
  codeMisses,
  deviceEvents,
  deviceTokens,
  pairings,
  proofs,
} from '../../../worker/db/tables/devices.ts';
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

describe('what JSON can say and nothing keeps', () => {
  const main = JSON.stringify('---\nname: a\ndescription: A.\n---\n');
  const files = (more: string) => `{"SKILL.md":{"text":${main}},${more}}`;
  const sent = (body: string) => api.call('/api/v1/items', { method: 'POST', token, body });
  const told = async (args: string) => {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill_edit","arguments":${args}}}`;
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    };
    return (await api.call('/mcp', { method: 'POST', token, body: call, headers })).text;
  };

  test('a file __proto__ is refused, not left out, over the API and over MCP', async () => {
    const proto = files('"__proto__":{"text":"x"}');
    expect((await sent(`{"kind":"skill","files":${proto}}`)).problem).toMatchObject({
      code: 'invalid_input',
      detail: 'files.__proto__ in the body is a name that is not accepted; choose another.',
    });
    expect(await told(`{"action":"create","files":${proto}}`)).toContain(
      'files.__proto__ in the arguments is a name that is not accepted; choose another.',
    );
    const others = files('"constructor":{"text":"x"},"a/__proto__":{"text":"y"}');
    const { json } = await sent(`{"kind":"skill","files":${others}}`);
    expect(json.item.files.map(({ path }: { path: string }) => path)).toEqual([
      'SKILL.md',
      'a/__proto__',
      'constructor',
    ]);
  });

  test('half of a surrogate pair is refused wherever it stands', async () => {
    expect(
      (await sent('{"kind":"skill","name":"a","description":"\\ud800","instructions":"x"}')).problem.detail,
    ).toBe('description in the body holds half of a surrogate pair; send valid Unicode.');
    expect(await told('{"action":"edit","name":"\\udc00","description":"x"}')).toContain(
      'half of a surrogate pair',
    );
    const device = await api.pair();
    const report = { cursor: null, agent_version: '\ud800', folders: [], dropped: [], events: [] };
    const { status } = await api.call('/api/v1/devices/self/report', { method: 'PUT', device, body: report });
    expect(status).toBe(400);
  });

  test('a body a million levels deep is refused like any other', async () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
    expect((await sent(deep)).problem.code).toBe('invalid_input');
    expect(await told(`{"action":${deep}}`)).toContain('isError');
  });

  test('a model is told a few of the arguments that do not fit', async () => {
    const wrong = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`f${i}`, 1]));
    const text = await told(JSON.stringify({ action: 'create', files: wrong }));
    expect(text).toContain('the arguments do not fit');
    expect(text.length).toBeLessThan(1000);
  });
});

test('work that fails after the answer is told to the log, without its message, whatever lines that has', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  api.push.notify = () => Promise.reject(new Error('private\n    at private.ts:1:1\n    at private.ts:2:2'));
  const { status } = await create('a');
  await api.settle();
  const written = log.mock.calls.flat().join('\n');
  log.mockRestore();
  expect(status).toBe(201);
  expect(written).toMatch(/^Error [0-9a-f-]{36}: Error\n {4}at /);
  expect(written).not.toContain('private');
});

test('a full disk is said, nothing is half stored, and all goes on once there is room', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  await create('a');
  const [{ pages = 0 } = {}] = await api.db.all<{ pages: number }>(
    'select page_count as pages from pragma_page_count',
  );
  await api.db.run(`pragma max_page_count = ${pages}`);
  const big = (name: string) =>
    api.call('/api/v1/items', {
      method: 'POST',
      token,
      body: { kind: 'skill', name, description: 'B.', instructions: 'word '.repeat(50_000) },
    });
  const { status, problem } = await big('b');
  log.mockRestore();
  expect([status, problem.code]).toEqual([503, 'unavailable']);
  expect(problem.detail).toContain('the disk of the registry is full');
  expect((await api.call('/api/v1/items', { token })).json.items).toHaveLength(1);
  await api.db.run('pragma max_page_count = 1000000');
  expect((await big('b')).status).toBe(201);
  expect((await api.call('/api/v1/items?q=word', { token })).json.hits).toHaveLength(1);
});

test('an address that two Host headers make is not of this machine', () => {
  const request = { url: 'http://evil.test, localhost/health', headers: new Headers() } as Request;
  expect(() => requireLoopback(request)).toThrow('answers on this machine only');
});
