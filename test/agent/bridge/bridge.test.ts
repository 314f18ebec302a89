import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Registry as Api } from '../../../agent/registry.ts';
import { POINTER } from '../../../schema/listing.ts';
import type { Local } from '../../../worker/local/serve.ts';
import { freshFolder, TestDevice } from '../registry.ts';
import { call, connect1, connect2, Registry, skills } from './harness.ts';

const registry = new Registry();
let local: Local;
let owner: Api;

beforeAll(async () => {
  local = await registry.start();
  const token = local.ownerToken as string;
  owner = new Api({ url: local.url, credentials: { type: 'bearer', token } });
  await owner.create({
    kind: 'skill',
    name: 'tea',
    description: 'How to make tea.',
    instructions: 'Boil water.',
  });
  await owner.create({
    kind: 'persona',
    name: 'butler',
    description: 'Serves tea.',
    instructions: 'You serve.',
  });
});
afterAll(() => registry.remove());

test('a 1.x client: handshake, tools and both ways of calling them', async () => {
  const device = await TestDevice.pair(local);
  const client = await connect1(device);
  expect(client.getInstructions()).toContain(POINTER);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['skills', 'skill_edit']);
  expect((await skills(client, { action: 'get', name: 'tea' })).text).toContain('Boil water.');
  const name = 'made-by-1x';
  await call(client, 'skill_edit', { action: 'create', name, description: 'D.', instructions: 'I.' });
  const { changes } = await owner.history({ kind: 'skill', name });
  expect(changes[0]?.author).toMatchObject({ type: 'device', client: 'test-client' });
  await client.ping();
});

test.each([
  ['automatic', { mode: 'auto' as const }, '2026-07-28'],
  ['pinned', { mode: { pin: '2026-07-28' } }, '2026-07-28'],
  ['older', { mode: 'legacy' as const }, '2025-11-25'],
])('a 2.x client, %s: handshake, tools, prompts and the Skills extension', async (_, mode, revision) => {
  const device = await TestDevice.pair(local);
  const { client, said } = await connect2(device, { versionNegotiation: mode });
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  expect(client.getInstructions()).toContain(POINTER);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['skills', 'skill_edit']);
  expect((await client.listPrompts()).prompts).toEqual([]);
  const uri = 'skill://tea/SKILL.md';
  expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri, mimeType: 'text/markdown' });
  await expect(client.readResource({ uri: 'skill://none/SKILL.md' })).rejects.toThrow();
  await expect(client.callTool({ name: 'nothing' })).rejects.toThrow('There is no tool named nothing.');
  expect(said()).toBe('');
});

test('the registry learns which client it is', async () => {
  const device = await TestDevice.pair(local);
  await connect1(device, { name: '@cline/core' });
  const seen = (await owner.clients()).clients.find(({ name }) => name === '@cline/core');
  expect(seen).toMatchObject({ version: '1.2.3' });
  expect(seen?.device).toBeTruthy();
});

test('claude-code with folders written is told no list, unless the bridge serves WSL', async () => {
  const device = await TestDevice.pair(local, ['.claude']);
  const listed = async (env: Record<string, string>) => {
    const { client } = await connect2(device, {
      name: 'claude-code',
      env,
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    await client.listTools();
    return client.getInstructions() ?? '';
  };
  expect(await listed({})).toContain('tea: How to make tea.');
  await device.once();
  expect(await listed({})).toBe('');
  expect(await listed({ WSL_DISTRO_NAME: 'Ubuntu' })).toBe('');
  expect(await listed({ REPERTOIRE_WSL_DISTRO: 'Ubuntu' })).toContain('butler: Serves tea.');
});

test('a device that is not paired says so, and works as soon as it is', async () => {
  const home = freshFolder('home');
  await expect(connect1({ home })).rejects.toThrow(
    /This device is not paired with a registry; run "repertoire pair URL"/,
  );
  await expect(connect2({ home }, { versionNegotiation: { mode: 'auto' } })).rejects.toThrow(/is not paired/);

  const device = await TestDevice.pair(local);
  const { client, said } = await connect2(device);
  await rename(device.files.device, `${device.files.device}.away`);
  expect(await call(client, 'skills', { action: 'list' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('is not paired'),
  });
  await rename(`${device.files.device}.away`, device.files.device);
  expect((await skills(client, { action: 'list' })).items.length).toBeGreaterThan(1);
  expect(said()).toMatch(
    /^repertoire: This device is not paired .*\nrepertoire: The registry answers again\.\n$/,
  );
});

test('a revoked device is told so in one sentence, and gets nothing from what it knew', async () => {
  const device = await TestDevice.pair(local);
  await device.once();
  const { client, said } = await connect2(device);
  const { devices } = await owner.devices();
  const newest = devices.toSorted((a, b) => b.paired_at - a.paired_at)[0];
  await owner.revoke(newest?.id as string);
  const first = await call(client, 'skills', { action: 'list' });
  expect(first.isError).toBe(true);
  expect(first.text).toMatch(/^[^.]+\.$|^[^;]+; .+\.$/);
  expect(first.text).not.toContain('cannot be reached');
  expect(await call(client, 'skill_edit', { action: 'create', name: 'x', description: 'd' })).toEqual(first);
  expect(said()).toBe(`repertoire: ${first.text}\n`);
});
