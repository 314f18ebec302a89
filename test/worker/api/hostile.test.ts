import { beforeEach, describe, expect, test } from 'vitest';
import { DeviceList } from '../../../schema/api.ts';
import { deviceEvents } from '../../../worker/db/tables.ts';
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
