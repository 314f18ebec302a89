import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEverything } from '../worker/gateway/upstreams.ts';
import { startChild } from './child.ts';
import type { RegistryOrder, RegistryReady } from './registry.ts';
import { compare, SIZES } from './riding.ts';
import { ridingSkills } from './riding-skills.ts';
import type { Scenario } from './scenario.ts';

const FLOOR = fileURLToPath(new URL('floor-worker.ts', import.meta.url));
const VERSION = '2025-11-25';
const SERVER = 'everything';

export const ridingGateway: Scenario = {
  name: 'riding-gateway',
  about:
    'tools/list of server-everything over HTTP and through /mcp/<server>, with so many skills that have to do with it, for a client without a known cap that asked within the last second',
  async run({ folder, rounds, say }) {
    say(`riding-gateway: filling registries of ${SIZES.join(', ')} skills …`);
    const upstream = await startEverything();
    const registry = await startChild<RegistryReady>('registry.ts', {
      data: join(folder, 'riding'),
      allowLoopback: true,
      accounts: SIZES.map(() => ({})),
    } satisfies RegistryOrder);
    const bare = await startChild<RegistryReady>('registry.ts', {
      data: join(folder, 'riding-floor'),
      entry: FLOOR,
      allowLoopback: true,
      accounts: [],
    } satisfies RegistryOrder);
    const wire = new Wire();
    try {
      const { url, tokens } = registry.ready;
      const accounts = SIZES.map((skills, index) => ({ skills, token: tokens[index] ?? '' }));
      for (const { skills, token } of accounts) {
        await add(`${url}/api/v1`, token, { skills, upstream: upstream.url });
      }
      const session = await open(wire, upstream.url);
      const through = accounts.map(({ skills, token }) => {
        const headers = { authorization: `Bearer ${token}` };
        return [skills, () => wire.ask(`${url}/mcp/${SERVER}`, 'tools/list', headers)] as const;
      });
      const forward = new URL(`${bare.ready.url}/forward`);
      forward.searchParams.set('to', upstream.url);
      return await compare({
        host: 'gateway',
        direct: () => wire.ask(upstream.url, 'tools/list', { 'mcp-session-id': session }),
        through: new Map(through),
        ping: () => wire.ask(`${url}/mcp`, 'ping', { authorization: `Bearer ${tokens[0]}` }),
        least: {
          what: 'added by a bare Worker: a round trip, passing on',
          call: () => wire.ask(forward.href, 'tools/list', { 'mcp-session-id': session }),
        },
        rounds: rounds ?? 100,
        say,
      });
    } finally {
      wire.close();
      await registry.stop();
      await bare.stop();
      await upstream.stop();
    }
  },
};

async function add(
  api: string,
  token: string,
  { skills, upstream }: { skills: number; upstream: string },
): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} was refused: ${text}`);
  };
  for (const [name, text] of ridingSkills(skills)) {
    await post('/items', { kind: 'skill', name, files: { 'SKILL.md': { text } } });
  }
  await post('/servers', { name: SERVER, upstream, manifest: 'skills: true\n' });
}

/** A session of the server's own: it keeps one for each client. */
async function open(wire: Wire, url: string): Promise<string> {
  const client = { name: 'bench', version: '1' };
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: client };
  const session = await wire.ask(url, 'initialize', {}, params);
  const headers = { 'mcp-session-id': String(session) };
  await wire.send(url, { method: 'notifications/initialized' }, headers);
  return String(session);
}

/** Warm connections on which nothing is read but bytes, so that what is measured is not the client. */
class Wire {
  readonly #agent = new Agent({ keepAlive: true });

  /** Sends a request and reads the answer; gives the session that it names. */
  ask(
    url: string,
    method: string,
    headers: Record<string, string>,
    params: object = {},
  ): Promise<string | undefined> {
    return this.send(url, { id: 1, method, params }, headers);
  }

  send(url: string, message: object, headers: Record<string, string>): Promise<string | undefined> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': body.length,
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': VERSION,
        },
      });
      sent.on('error', reject).on('response', (answer) => {
        const chunks: Buffer[] = [];
        answer.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const { statusCode = 0, headers } = answer;
          const failed = statusCode >= 300 || chunks.some((chunk) => chunk.includes('"error":{'));
          if (failed) reject(new Error(`${url} answered ${statusCode}: ${Buffer.concat(chunks)}`));
          else resolve(headers['mcp-session-id'] as string | undefined);
        });
      });
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
