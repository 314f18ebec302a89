import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { onTestFinished } from 'vitest';
import { type Local, startLocal } from '../../../worker/local/serve.ts';
import type { TestDevice } from '../registry.ts';

const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));
const NODE = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url));

/** A registry that goes away and comes back at the same address. */
export class Registry {
  readonly #data = mkdtempSync(join(tmpdir(), 'repertoire-registry-'));
  #local: Local | null = null;
  #port = 0;

  async start(): Promise<Local> {
    this.#local = await startLocal({ port: this.#port, data: this.#data });
    this.#port = Number(new URL(this.#local.url).port);
    return this.#local;
  }

  async stop(): Promise<void> {
    await this.#local?.stop();
    this.#local = null;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#data, { recursive: true, force: true });
  }
}

interface Spawn {
  env?: Record<string, string>;
  name?: string;
}

function parameters(home: string, { env = {} }: Spawn) {
  return {
    command: NODE,
    args: [PROGRAM],
    env: { HOME: home, REPERTOIRE_STATE: join(home, 'state'), ...env },
    stderr: 'pipe' as const,
  };
}

/** A 2.x client on the bridge's standard input and output, with what the bridge says to the person. */
export async function connect2(
  device: Pick<TestDevice, 'home'>,
  options: Spawn & ClientOptions = {},
): Promise<{ client: Client; said: () => string }> {
  const transport = new StdioClientTransport(parameters(device.home, options));
  let said = '';
  transport.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const client = new Client({ name: options.name ?? 'test-client', version: '1.2.3' }, options);
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, said: () => said };
}

/** A 1.x client, which knows only the older handshake. */
export async function connect1(device: Pick<TestDevice, 'home'>, options: Spawn = {}): Promise<Client1> {
  const client = new Client1({ name: options.name ?? 'test-client', version: '1.2.3' });
  onTestFinished(() => client.close());
  await client.connect(new Stdio1(parameters(device.home, options)));
  return client;
}

/** The text of a tool's result, and whether it is an error. */
export async function call(
  client: Client | Client1,
  name: string,
  args: Record<string, unknown>,
): Promise<{ text: string; isError: boolean }> {
  const result = await client.callTool({ name, arguments: args });
  const [content] = result.content as { text: string }[];
  return { text: content?.text ?? '', isError: result.isError === true };
}

/** The answer of `skills`. */
export async function skills(client: Client | Client1, args: Record<string, unknown>) {
  const { text, isError } = await call(client, 'skills', args);
  if (isError) throw new Error(text);
  return JSON.parse(text);
}
