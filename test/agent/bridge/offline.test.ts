import { afterAll, beforeEach, expect, test } from 'vitest';
import { Registry as Api } from '../../../agent/registry.ts';
import type { Local } from '../../../worker/local/serve.ts';
import { TestDevice } from '../registry.ts';
import { call, connect1, connect2, Registry, skills } from './harness.ts';

const registry = new Registry();
let local: Local;
let owner: Api;

beforeEach(async () => {
  await registry.stop();
  local = await registry.start();
  const token = local.ownerToken as string;
  owner = new Api({ url: local.url, credentials: { type: 'bearer', token } });
});
afterAll(() => registry.remove());

const NOTICE =
  /^The registry cannot be reached\. This is what this device knew at \d{4}-\d\d-\d\d \d\d:\d\d UTC; it may be outdated\.$/;

async function fill(): Promise<void> {
  const { items } = await owner.list();
  if (items.length > 0) return;
  await owner.create({
    kind: 'skill',
    name: 'tea',
    files: {
      'SKILL.md': { text: '---\nname: tea\ndescription: How to make tea.\n---\nBoil water.\n' },
      'notes/oolong.md': { text: 'Oolong wants 85 degrees.\n' },
      'leaf.bin': { base64: 'AAEC/w==' },
    },
  });
  await owner.create({ kind: 'skill', name: 'both', description: 'A skill.', instructions: 'S.' });
  await owner.create({ kind: 'persona', name: 'both', description: 'A persona.', instructions: 'P.' });
  await owner.create({ kind: 'skill', name: 'gone', description: 'Gone.', instructions: 'G.' });
  const gone = await owner.item({ kind: 'skill', name: 'gone' });
  await owner.remove({ kind: 'skill', name: 'gone' }, gone.revision);
}

test('while the registry is away, reading goes on and says so; writing is refused; then it is used again', async () => {
  await fill();
  const device = await TestDevice.pair(local);
  await device.once();
  const { client, said } = await connect2(device, { versionNegotiation: { mode: 'auto' } });
  await registry.stop();

  const list = await skills(client, { action: 'list' });
  expect(list.notice).toMatch(NOTICE);
  expect(list.items.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)).toEqual([
    'skill both',
    'skill tea',
    'persona both',
  ]);
  expect((await skills(client, { action: 'list', kind: 'persona' })).total).toBe(1);
  const tea = await skills(client, { action: 'get', name: 'tea' });
  expect(tea).toMatchObject({ revision: 1, files: ['SKILL.md', 'leaf.bin', 'notes/oolong.md'] });
  expect(tea.text).toContain('Boil water.');
  expect((await skills(client, { action: 'get', name: 'tea', path: 'leaf.bin' })).base64).toBe('AAEC/w==');
  const { hits } = await skills(client, { action: 'search', query: 'OOLONG degrees' });
  expect(hits).toMatchObject([{ name: 'tea', path: 'notes/oolong.md', passage: 'Oolong wants 85 degrees.' }]);
  expect((await skills(client, { action: 'guidelines' })).guidelines).toBe('');
  expect(await call(client, 'skills', { action: 'get', name: 'both' })).toEqual({
    isError: true,
    text: 'both is both a skill and a persona; say which with kind.',
  });
  expect((await call(client, 'skills', { action: 'get', name: 'gone' })).isError).toBe(true);
  expect((await call(client, 'skills', { action: 'get' })).text).toContain('action "get" needs the name');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['skills', 'skill_edit']);
  await expect(client.readResource({ uri: 'skill://tea/SKILL.md' })).rejects.toThrow(
    /The registry cannot be reached, and this device cannot answer resources\/read/,
  );
  const write = { action: 'create', name: 'later', description: 'D.', instructions: 'I.' };
  expect(await call(client, 'skill_edit', write)).toEqual({
    isError: true,
    text: 'Nothing was saved, because the registry cannot be reached; try again when the network is back.',
  });
  expect(said()).toBe('repertoire: The registry cannot be reached; answering from what this device knows.\n');

  await registry.start();
  const again = await skills(client, { action: 'list' });
  expect(again).not.toHaveProperty('notice');
  expect(again.items.map(({ name }: { name: string }) => name)).not.toContain('later');
  expect((await call(client, 'skill_edit', write)).isError).toBe(false);
  expect(said()).toContain('\nrepertoire: The registry answers again.\n');
});

test('a client that starts while the registry is away: both handshakes, fitted by what this device reported', async () => {
  await fill();
  const device = await TestDevice.pair(local, ['.claude']);
  await device.once();
  const online = await connect2(device, { versionNegotiation: { mode: 'auto' } });
  await registry.stop();

  const older = await connect1(device);
  const told = older.getInstructions() ?? '';
  expect(told).toMatch(
    /^Registry unreachable; state of \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\n\nThe user keeps skills/,
  );
  expect(told).toContain('tea: How to make tea.');
  await older.ping();
  expect((await older.listPrompts()).prompts).toEqual([]);
  const [tool] = (await older.listTools()).tools;
  expect(tool?.description).toContain('tea: How to make tea.');

  const claude = { name: 'claude-code', versionNegotiation: { mode: { pin: '2026-07-28' } } };
  const { client } = await connect2(device, claude);
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  expect(client.getInstructions()).toMatch(/^Registry unreachable; state of [^\n]+$/);
  expect(client.getServerCapabilities()).toEqual(online.client.getServerCapabilities());
  const wsl = await connect2(device, { ...claude, env: { REPERTOIRE_WSL_DISTRO: 'Ubuntu' } });
  expect(wsl.client.getInstructions()).toContain('tea: How to make tea.');

  await registry.start();
  expect(await skills(client, { action: 'list' })).not.toHaveProperty('notice');
  expect((await client.readResource({ uri: 'skill://tea/SKILL.md' })).contents).toHaveLength(1);
});

test('a device that never heard from the registry has nothing to answer from, and says so', async () => {
  const device = await TestDevice.pair(local);
  await registry.stop();
  const client = await connect1(device);
  expect(client.getInstructions()).toBe('Registry unreachable; state of nothing yet.');
  expect(await call(client, 'skills', { action: 'list' })).toEqual({
    isError: true,
    text: 'The registry cannot be reached, and this device has never heard from it; try again when the network is back.',
  });
});
