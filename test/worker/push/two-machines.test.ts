import { beforeAll, expect, test } from 'vitest';
import { askable, asker, type PairedDevice, type Running, run, type Socket } from './harness.ts';

let registry: Running;
let ask: Awaited<ReturnType<typeof asker>>;

beforeAll(async () => {
  registry = await run({
    entry: askable({ answer: "await doorbell.contested(searchParams.get('device'))" }),
  });
  ask = await asker(registry);
});

async function contested({ id }: PairedDevice): Promise<{ device: string } | null> {
  return (await ask({ device: id })) as { device: string } | null;
}

async function alerts({ id }: PairedDevice): Promise<Record<string, string>[]> {
  const answer = (await (await registry.call('GET', '/api/v1/events')).json()) as {
    events: { type: string; details: Record<string, string> }[];
  };
  return answer.events
    .filter(({ type, details }) => type === 'key_on_two_machines' && details.device === id)
    .map(({ details }) => details);
}

test('check 28: a newer socket that replaces one whose peer is alive is an event that names both', async () => {
  const device = await registry.pair();
  const before = Date.now();
  const older = await registry.open(device);
  expect(await contested(device)).toBeNull();
  const newer = await registry.open(device);
  expect(await older.closed).toEqual({ code: 4409, reason: 'replaced' });
  expect(await contested(device)).toMatchObject({ device: device.id, thumbprint: device.thumbprint });
  while ((await alerts(device)).length === 0);
  const [alert, ...more] = await alerts(device);
  expect(more).toEqual([]);
  expect(alert).toMatchObject({ name: 'laptop', place: 'this computer', other_place: 'this computer' });
  const [otherSince, since] = [alert?.other_since, alert?.since].map((iso) => Date.parse(String(iso)));
  expect(otherSince).toBeGreaterThanOrEqual(before);
  expect(since).toBeGreaterThanOrEqual(otherSince as number);
  newer.socket.close();
});

test.each<[string, (older: Socket) => void]>([
  ['broke off', ({ socket }) => socket.terminate()],
  ['was closed', ({ socket }) => socket.close(1000)],
  // Nothing that arrives is read any more: what a sleeping or cut-off computer looks like from here.
  ['hangs', ({ socket }) => socket.pause()],
])('a device that connects again after its socket %s raises none', async (_, end) => {
  const device = await registry.pair();
  const older = await registry.open(device);
  end(older);
  await registry.open(device);
  expect(await contested(device)).toBeNull();
  older.socket.terminate();
  await registry.open(await registry.pair());
  expect(await alerts(device)).toEqual([]);
});
