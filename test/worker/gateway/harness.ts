import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Local, startLocal } from '../../../worker/local/serve.ts';

/** The real Worker in workerd, which may call servers of this machine. */
export interface TestGateway {
  readonly local: Local;
  readonly folder: string;
  /** The API as the owner. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  api(method: string, path: string, body?: unknown): Promise<{ status: number; json: any }>;
  addServer(name: string, upstream: string, rest?: object): Promise<void>;
  addSkill(name: string, text: string): Promise<void>;
  /** A client of the newest SDK at an address of the registry. */
  connect(path: string, options?: ConnectOptions): Promise<Client>;
  stop(): Promise<void>;
}

interface ConnectOptions {
  name?: string;
  mode?: 'legacy' | 'auto';
  /** Of an API token; the owner's otherwise. */
  token?: string;
  capabilities?: ClientOptions['capabilities'];
  /** Called before the handshake. */
  prepare?: (client: Client) => void;
}

export async function startGateway(): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-gateway-'));
  const lines: string[] = [];
  const local = await startLocal({
    port: 0,
    data: join(folder, 'data'),
    allowLoopback: true,
    log: (line) => {
      lines.push(line);
      if (process.env.GATEWAY_LOG) console.log(line);
    },
  });
  const authorization = `Bearer ${local.ownerToken}`;
  const clients: Client[] = [];

  const api: TestGateway['api'] = async (method, path, body) => {
    const answer = await fetch(`${local.url}/api/v1${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
    return { status: answer.status, json: isJson ? JSON.parse(text) : text };
  };

  return {
    local,
    folder,
    api,
    async addServer(name, upstream, rest = {}) {
      const { status, json } = await api('POST', '/servers', { name, upstream, ...rest });
      if (status !== 201) throw new Error(JSON.stringify(json));
    },
    async addSkill(name, text) {
      const { status, json } = await api('POST', '/items', {
        kind: 'skill',
        name,
        files: { 'SKILL.md': { text } },
      });
      if (status !== 201) throw new Error(JSON.stringify(json));
    },
    async connect(path, { name = 'someone', mode = 'auto', token, capabilities, prepare } = {}) {
      const client = new Client(
        { name, version: '1' },
        { versionNegotiation: { mode }, ...(capabilities ? { capabilities } : {}) },
      );
      prepare?.(client);
      clients.push(client);
      await client.connect(
        new StreamableHTTPClientTransport(new URL(local.url + path), {
          requestInit: { headers: { authorization: token ? `Bearer ${token}` : authorization } },
        }),
      );
      return client;
    },
    async stop() {
      for (const client of clients) await client.close();
      await local.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
