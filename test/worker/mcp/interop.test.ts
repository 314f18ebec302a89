import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { type Local, startLocal } from '../../../worker/local/serve.ts';
import { SERVER } from '../../../worker/mcp/server.ts';
import { MODERN } from './harness.ts';

/** The official clients of both lines against the real Worker in workerd. */
let folder: string;
let local: Local;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'interop-'));
  local = await startLocal({ port: 0, data: join(folder, 'data') });
});

afterAll(async () => {
  await local?.stop();
  await rm(folder, { recursive: true, force: true });
});

const target = () => new URL(`${local.url}/mcp`);
const options = (token = local.ownerToken ?? '') => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

interface Host {
  instructions: string | undefined;
  revision: string | undefined;
  call(name: string, args: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
  tools(): Promise<string[]>;
  read(uri: string): Promise<unknown>;
  prompts(): Promise<unknown[]>;
  close(): Promise<void>;
}

async function oldClient(): Promise<Host> {
  const client = new OldClient({ name: 'old-host', version: '1' });
  const transport = new OldTransport(target(), options());
  await client.connect(transport as never);
  return host(client, transport.protocolVersion);
}

function newClient(mode: 'legacy' | 'auto' | { pin: string }) {
  return async (): Promise<Host> => {
    const client = new NewClient({ name: 'new-host', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new NewTransport(target(), options()));
    return host(client, client.getNegotiatedProtocolVersion());
  };
}

function host(client: OldClient | NewClient, revision: string | undefined): Host {
  const any = client as NewClient;
  return {
    instructions: any.getInstructions(),
    revision,
    async call(name, args) {
      const { content, isError } = await any.callTool({ name, arguments: args });
      const [first] = content as { text: string }[];
      return { text: first?.text ?? '', isError: isError === true };
    },
    tools: async () => (await any.listTools()).tools.map(({ name }) => name),
    read: async (uri) => (await any.readResource({ uri })).contents[0],
    prompts: async () => (await any.listPrompts()).prompts,
    close: () => any.close(),
  };
}

const HOSTS: [string, () => Promise<Host>, string][] = [
  ['the 1.x client', oldClient, '2025-11-25'],
  ['the 2.x client, legacy', newClient('legacy'), '2025-11-25'],
  ['the 2.x client, automatic', newClient('auto'), MODERN],
  ['the 2.x client, pinned', newClient({ pin: MODERN }), MODERN],
];

describe.each(HOSTS)('%s', (label, connect, revision) => {
  test('negotiates, lists, writes, reads and is told', async () => {
    const name = label.replace(/[^a-z0-9]+/g, '-');
    const first = await connect();
    expect(first.revision).toBe(revision);
    expect(await first.tools()).toEqual(['skills', 'skill_edit']);
    expect(await first.prompts()).toEqual([]);
    const made = await first.call('skill_edit', {
      action: 'create',
      name,
      description: `Of ${label}`,
      instructions: 'Ünïcode.\n',
    });
    expect(made.isError).toBe(false);
    const got = await first.call('skills', { action: 'get', name });
    expect(JSON.parse(got.text).text).toContain('Ünïcode.');
    expect(await first.read(`skill://${name}/SKILL.md`)).toMatchObject({
      mimeType: 'text/markdown',
      text: JSON.parse(got.text).text,
    });
    expect(await first.call('skills', { action: 'get', name: 'nothing' })).toMatchObject({ isError: true });
    await first.close();
    const second = await connect();
    expect(second.instructions).toContain(`${name}: Of ${label}`);
    await second.close();
  });
});

test('the Skills extension speaks to its official client', async () => {
  const client = new NewClient({ name: 'host', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new NewTransport(target(), options()));
  const skills = new SkillsClient(client);
  expect([skills.supported, skills.directoryRead]).toEqual([true, true]);
  const { skills: entries } = await skills.list();
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries) expect((await skills.read(entry)).verified).toBe(true);
  await client.close();
});

test.each(HOSTS.slice(1, 3))('%s gets a 401 as such', async (_, __, revision) => {
  const mode = revision === MODERN ? 'auto' : 'legacy';
  const client = new NewClient({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
  await expect(client.connect(new NewTransport(target(), options(`sk_${'x'.repeat(43)}`)))).rejects.toThrow(
    /401|unauthorized/i,
  );
});

test('the server says the version of the package', () => {
  expect(SERVER.version).toBe(manifest.version);
});
