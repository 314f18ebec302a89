import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { askable, asker, type Running, run } from './harness.ts';

/** Tells which instance runs, and can put its clock past every expiry. */
const DOORBELL = `
export class Doorbell extends Real {
  #instance = crypto.randomUUID();
  instance() {
    return this.#instance;
  }
  async expire() {
    for (const socket of this.ctx.getWebSockets())
      socket.serializeAttachment({ ...socket.deserializeAttachment(), expiresAt: 1 });
    await this.alarm();
  }
  nextAlarm() {
    return this.ctx.storage.getAlarm();
  }
}
`;

let registry: Running;
let ask: (what: 'instance' | 'expire' | 'nextAlarm') => Promise<unknown>;

beforeAll(async () => {
  const answer = "await doorbell[searchParams.get('ask')]()";
  registry = await run({ entry: askable({ answer, doorbell: DOORBELL }) });
  const asked = await asker(registry);
  ask = (what) => asked({ ask: what });
});

async function write(text: string): Promise<string> {
  await registry.call('PUT', '/api/v1/guidelines', { text });
  const { cursor } = (await (await registry.call('GET', '/api/v1/changes')).json()) as { cursor: string };
  return cursor;
}

/** Sleeps until the object has gone from memory: workerd drops one that was idle for ten seconds. */
async function evicted(instance: unknown): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    await sleep(12_000);
    if ((await ask('instance')) !== instance) return;
  }
  throw new Error('The object never left memory: it does not hibernate.');
}

test('an object that was evicted keeps its sockets, knows whose they are, rings and revokes', async () => {
  const [stays, goes] = [await registry.pair(), await registry.pair()];
  const [socket, other] = [await registry.open(stays), await registry.open(goes)];
  await evicted(await ask('instance'));
  const one = await write('One.');
  expect(await socket.ring()).toBe(one);
  await registry.call('DELETE', `/api/v1/devices/${goes.id}`);
  expect(await other.closed).toEqual({ code: 4401, reason: 'revoked' });
  const { devices } = (await (await registry.call('GET', '/api/v1/devices')).json()) as {
    devices: { id: string; online: boolean }[];
  };
  expect(devices.filter((device) => device.online).map(({ id }) => id)).toEqual([stays.id]);
});

test('a socket that outlived its proof is closed so that the device proves its key again', async () => {
  const device = await registry.pair();
  const before = Date.now();
  const socket = await registry.open(device);
  const alarm = (await ask('nextAlarm')) as number;
  expect(alarm).toBeGreaterThan(before);
  await ask('expire');
  expect(await socket.closed).toEqual({ code: 4408, reason: 'expired' });
  const again = await registry.open(device);
  const two = await write('Two.');
  expect(await again.ring()).toBe(two);
});
