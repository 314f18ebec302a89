import { existsSync, readFileSync } from 'node:fs';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, expect, test } from 'vitest';
import type { Local } from '../../worker/local/serve.ts';
import { startRegistry, TestDevice, until } from './registry.ts';

let local: Local;

beforeAll(async () => {
  ({ local } = await startRegistry());
});

const target = () => new URL(`${local.url}/mcp`);
const options = () => ({ requestInit: { headers: { authorization: `Bearer ${local.ownerToken}` } } });

type Call = (args: Record<string, unknown>) => Promise<unknown>;

async function byInitialize(): Promise<Call> {
  const client = new OldClient({ name: 'old-host', version: '1' });
  await client.connect(new OldTransport(target(), options()) as never);
  return (args) => client.callTool({ name: 'skill_edit', arguments: args });
}

async function byDiscover(): Promise<Call> {
  const client = new NewClient(
    { name: 'new-host', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new NewTransport(target(), options()));
  return (args) => client.callTool({ name: 'skill_edit', arguments: args });
}

test.each([
  ['initialize', byInitialize],
  ['server/discover', byDiscover],
])(
  'what a client creates and edits after %s lands in the folders of a device',
  async (handshake, connect) => {
    const device = await TestDevice.pair(local);
    await device.start();
    const edit = await connect();
    const name = `by-${handshake.replace('/', '-')}`;
    const files = ['.claude/skills', '.agents/skills'].map((folder) => device.path(folder, name, 'SKILL.md'));
    const hold = (text: string) =>
      until(() => files.every((file) => existsSync(file) && readFileSync(file, 'utf8').includes(text)));

    const made = await edit({ action: 'create', name, description: 'd', instructions: 'First.\n' });
    expect(made).not.toMatchObject({ isError: true });
    await hold('First.');
    await edit({ action: 'edit', name, instructions: 'Second.\n' });
    await hold('Second.');
    await edit({ action: 'edit', name, state: 'disabled' });
    await until(() => !files.some(existsSync));
  },
);
