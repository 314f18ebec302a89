import { beforeEach, expect, test } from 'vitest';
import { skillText } from '../registry/harness.ts';
import { type Call, openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
  await api.call('/api/v1/items', {
    method: 'POST',
    token,
    body: { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') }, 'b.md': { text: 'b' } } },
  });
});

async function trips(path: string, call: Call): Promise<number> {
  await api.settle();
  const before = api.seen.trips;
  const { status } = await api.call(`/api/v1${path}`, call);
  expect(status).toBeLessThan(300);
  return api.seen.trips - before;
}

const READS = [
  '/items',
  '/items?q=a',
  '/items/skill/a',
  '/items/skill/a/history',
  '/items/skill/a/files/b.md',
].concat('/changes', '/guidelines', '/devices', '/clients', '/whoami');

test('a read by an API token is one round trip to the database', async () => {
  for (const path of READS) expect([path, await trips(path, { token })]).toEqual([path, 1]);
});

test('a read by a device is one round trip, the first use of its proof included', async () => {
  const device = await api.pair();
  // The first call of a minute notes when the device was seen, after the answer.
  await api.call('/api/v1/whoami', { device });
  for (const path of READS) expect([path, await trips(path, { device })]).toEqual([path, 1]);
});

test('an edit is two: reading the head, and writing on it', async () => {
  const patch = (body: object) => trips('/items/skill/a', { method: 'PATCH', token, body });
  expect(await patch({ expected_revision: 1, description: 'New.' })).toBe(2);
  expect(await patch({ expected_revision: 2, instructions: 'New.' })).toBe(2);
  expect(await patch({ expected_revision: 3, state: 'disabled' })).toBe(2);
  const device = await api.pair();
  await api.call('/api/v1/whoami', { device });
  const body = { expected_revision: 3, description: 'Newer.' };
  expect(await trips('/items/skill/a', { method: 'PATCH', device, body })).toBe(2);
});
