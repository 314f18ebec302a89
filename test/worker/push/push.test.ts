import { once } from 'node:events';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { PING, PONG } from '../../../schema/push.ts';
import { type PairedDevice, type Running, run, type Socket } from './harness.ts';

let registry: Running;

beforeAll(async () => {
  registry = await run();
});

let made = 0;
/** Adds a skill and gives its name and the cursor after it. */
async function write(): Promise<{ name: string; cursor: string }> {
  const name = `skill-${++made}`;
  const response = await registry.call('POST', '/api/v1/items', {
    kind: 'skill',
    name,
    description: 'Made by a test.',
    instructions: 'Do.',
  });
  const { cursor } = (await response.json()) as { cursor: string };
  return { name, cursor };
}

async function online(): Promise<string[]> {
  const { devices } = (await (await registry.call('GET', '/api/v1/devices')).json()) as {
    devices: { id: string; online: boolean }[];
  };
  return devices.filter((device) => device.online).map(({ id }) => id);
}

async function connected(): Promise<{ device: PairedDevice; socket: Socket }> {
  const device = await registry.pair();
  return { device, socket: await registry.open(device) };
}

test('a change rings every connected device with the cursor to pull up to', async () => {
  const [one, two] = [await connected(), await connected()];
  const before = (await registry.pull(one.device)).cursor;
  const { name, cursor } = await write();
  expect([await one.socket.ring(), await two.socket.ring()]).toEqual([cursor, cursor]);
  for (const { device } of [one, two])
    expect(await registry.pull(device, before)).toMatchObject({ cursor, items: [{ name }] });
});

test('twenty devices are rung', async () => {
  const all: { socket: Socket }[] = [];
  for (let i = 0; i < 20; i++) all.push(await connected());
  const { cursor } = await write();
  expect(await Promise.all(all.map(({ socket }) => socket.ring()))).toEqual(Array(20).fill(cursor));
});

test('a ping is answered, and anything else is not', async () => {
  const { socket } = (await connected()).socket;
  const answers: string[] = [];
  socket.on('message', (data) => answers.push(String(data)));
  for (const message of ['hello', PING]) socket.send(message);
  await once(socket, 'message');
  expect(answers).toEqual([PONG]);
});

test('who is connected shows, and who has left does not', async () => {
  const { device, socket } = await connected();
  expect(await online()).toContain(device.id);
  socket.socket.close(1000, 'bye');
  expect((await socket.closed).code).toBe(1000);
  await vi.waitFor(async () => expect(await online()).not.toContain(device.id));
  const { cursor } = await write();
  const other = await connected();
  expect(other.socket.rings).not.toContain(cursor);
});

describe('the door', () => {
  test('opens for a device alone', async () => {
    expect((await registry.call('GET', '/api/v1/push')).status).toBe(400);
    const device = await registry.pair();
    const asToken = { authorization: `Bearer ${registry.token}` };
    await expect(registry.open(device, { headers: asToken })).rejects.toMatchObject({ status: 403 });
  });

  test.each([
    ['signed for another URL', { url: 'http://127.0.0.1/api/v1/items' }],
    ['signed without its token', { ath: null }],
    ['used before', { jti: 'once' }],
  ])('is closed to a proof %s', async (_, proof) => {
    const device = await registry.pair();
    if ('jti' in proof) await registry.open(device, { proof });
    await expect(registry.open(device, { proof })).rejects.toMatchObject({ status: 401 });
  });

  test('tells the nonce to a proof without one', async () => {
    const device = await registry.pair();
    await expect(registry.open(device, { proof: { nonce: null } })).rejects.toMatchObject({
      status: 401,
      challenge: expect.stringContaining('use_dpop_nonce'),
    });
    await registry.open(device);
  });

  test('does not believe whom a client says that it is', async () => {
    const [honest, liar] = [await connected(), await registry.pair()];
    const forged = await registry.open(liar, {
      headers: { 'x-repertoire-device': honest.device.id, 'x-repertoire-expires': '1' },
    });
    expect(await online()).toContain(liar.id);
    const { cursor } = await write();
    expect([await honest.socket.ring(), await forged.ring()]).toEqual([cursor, cursor]);
  });
});

test("a device is rung by its own account's changes alone", async () => {
  const { device, socket } = await connected();
  const stranger = await registry.pair(registry.neighbour);
  const apart = await registry.open(stranger);
  const { cursor } = await write();
  expect(await socket.ring()).toBe(cursor);
  expect(await online()).not.toContain(stranger.id);
  await fetch(`${registry.url}/api/v1/guidelines`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${registry.neighbour}` },
    body: JSON.stringify({ text: 'Mine.' }),
  });
  expect([await apart.ring(), apart.rings.length, socket.rings.length]).toEqual(['x:1', 1, 1]);
  expect(await online()).toContain(device.id);
});

test('check 27: a device that is revoked while connected is told so, is rung no more, and gets no socket again', async () => {
  const [revoked, other] = [await connected(), await connected()];
  const { status } = await registry.call('DELETE', `/api/v1/devices/${revoked.device.id}`);
  expect(status).toBe(204);
  expect(await online()).not.toContain(revoked.device.id);
  const { cursor } = await write();
  expect(await other.socket.ring()).toBe(cursor);
  expect(await revoked.socket.closed).toEqual({ code: 4401, reason: 'revoked' });
  expect(revoked.socket.rings).toEqual([]);
  await expect(registry.open(revoked.device)).rejects.toMatchObject({ status: 401 });
});

test('a newer socket of one device replaces the older', async () => {
  const { device, socket } = await connected();
  const newer = await registry.open(device);
  expect(await socket.closed).toEqual({ code: 4409, reason: 'replaced' });
  const { cursor } = await write();
  expect(await newer.ring()).toBe(cursor);
  expect((await online()).filter((id) => id === device.id)).toHaveLength(1);
});

test('a device that missed its rings has everything with one pull', async () => {
  const { device, socket } = await connected();
  const { cursor } = await registry.pull(device);
  socket.socket.terminate();
  const missed = [await write(), await write(), await write()];
  await registry.open(device);
  const page = await registry.pull(device, cursor);
  expect(page.items.map(({ name }) => name)).toEqual(missed.map(({ name }) => name));
  expect(page.cursor).toBe(missed.at(-1)?.cursor);
});

test('with every object gone, devices connect again and have everything', async () => {
  const all = [await connected(), await connected()];
  const since = await Promise.all(all.map(async ({ device }) => (await registry.pull(device)).cursor));
  await registry.restart();
  for (const { socket } of all) expect((await socket.closed).code).toBe(1006);
  const missed = await write();
  const sockets = await Promise.all(all.map(({ device }) => registry.open(device)));
  for (const [i, { device }] of all.entries())
    expect(await registry.pull(device, since[i])).toMatchObject({
      cursor: missed.cursor,
      items: [{ name: missed.name }],
    });
  const { cursor } = await write();
  expect(await Promise.all(sockets.map((socket) => socket.ring()))).toEqual([cursor, cursor]);
});
