import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import { Scope } from '../../../schema/api.ts';
import { sha256 } from '../../../schema/digest.ts';
import { Ring } from '../../../schema/push.ts';
import { openDatabase } from '../../../worker/db/client.ts';
import { tokens } from '../../../worker/db/tables/programs.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import { startLocal } from '../../../worker/local/serve.ts';
import { bootstrapAccount } from '../../../worker/registry/bootstrap.ts';
import { newId, newSecret } from '../../../worker/registry/random.ts';
import { type ProofParts, TestDevice } from '../device.ts';

export interface Running {
  readonly url: string;
  readonly token: string;
  /** Token of a second account. */
  readonly neighbour: string;
  call(method: string, path: string, body?: unknown): Promise<Response>;
  pair(approver?: string): Promise<PairedDevice>;
  /** Opens a device's socket; rejects with the HTTP answer's status where that is refused. */
  open(device: PairedDevice, options?: OpenOptions): Promise<Socket>;
  pull(device: PairedDevice, since?: string): Promise<{ cursor: string; items: { name: string }[] }>;
  /** Stops, and starts again on the same data: every object is new. */
  restart(): Promise<void>;
}

export type PairedDevice = TestDevice & { id: string };
/** A device, or an API token. */
type Who = TestDevice | string;

interface OpenOptions {
  proof?: ProofParts;
  headers?: Record<string, string>;
}

export interface Socket {
  readonly socket: WebSocket;
  /** The next cursor that rings. */
  ring(): Promise<string>;
  readonly rings: readonly string[];
  readonly closed: Promise<{ code: number; reason: string }>;
}

/**
 * An entry for {@link run}: the Worker as it is, with a way to ask an account's object itself. `answer` is an expression
 * over `doorbell` and `searchParams`; `doorbell` declares another class around `Real`.
 */
export function askable({
  answer,
  doorbell = 'export class Doorbell extends Real {}',
}: {
  answer: string;
  doorbell?: string;
}): string {
  return `
import worker from '${ROOT}worker/index.ts';
import { Doorbell as Real } from '${ROOT}worker/push/doorbell.ts';

${doorbell}

export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== '/test') return worker.fetch(request, env, ctx);
    const doorbell = env.DOORBELL.getByName(searchParams.get('account'));
    return Response.json((${answer}) ?? null);
  },
};
`;
}

/** Asks the object of the owner's account, in a Worker that is {@link askable}. */
export async function asker({
  call,
}: Running): Promise<(question: Record<string, string>) => Promise<unknown>> {
  const { account_id: account } = (await (await call('GET', '/api/v1/whoami')).json()) as {
    account_id: string;
  };
  return async (question) =>
    (await call('GET', `/test?${new URLSearchParams({ account, ...question })}`)).json();
}

/** The real thing on a free port: workerd, the Worker, libSQL on a file. `entry` is TypeScript around the Worker. */
export async function run({ entry }: { entry?: string } = {}): Promise<Running> {
  const data = await mkdtemp(join(tmpdir(), 'repertoire-push-'));
  const neighbour = `sk_${newSecret()}`;
  const options = {
    port: 0,
    data,
    ...(entry === undefined ? {} : { entry: join(data, 'entry.ts') }),
    bootstrap: async (...[client, keep]: Parameters<typeof bootstrapAccount>) => {
      if (await bootstrapAccount(client, keep)) await addNeighbour(client, neighbour);
    },
  };
  if (entry !== undefined) await writeFile(join(data, 'entry.ts'), entry);
  let local = await startLocal(options);
  const token = local.ownerToken ?? '';
  const sockets: WebSocket[] = [];
  afterAll(async () => {
    for (const socket of sockets) socket.terminate();
    await local.stop();
    await rm(data, { recursive: true, force: true });
  });

  async function send(method: string, path: string, init: RequestInit, who: Who = token): Promise<Response> {
    const url = local.url + path;
    const device = typeof who === 'string' ? null : who;
    const auth = device ? await device.headers(method, url) : { authorization: `Bearer ${who}` };
    const response = await fetch(url, { method, ...init, headers: auth });
    const nonce = response.headers.get('dpop-nonce');
    if (device && nonce) device.nonce = nonce;
    return response;
  }

  async function json(method: string, path: string, body: unknown, who: Who) {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    let response = await send(method, path, init, who);
    if (response.status === 401 && typeof who !== 'string') response = await send(method, path, init, who);
    if (!response.ok)
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    return (await response.json()) as any;
  }

  return {
    get url() {
      return local.url;
    },
    token,
    neighbour,
    call: (method, path, body) =>
      send(method, path, body === undefined ? {} : { body: JSON.stringify(body) }),
    async pair(approver = token) {
      const device = await TestDevice.make();
      const pairing = await json('POST', '/api/v1/pairings', { name: 'laptop', platform: 'linux' }, device);
      await json('POST', `/api/v1/pairings/${pairing.user_code}/approve`, undefined, approver);
      const body = { device_code: pairing.device_code };
      const paired = await json('POST', '/api/v1/pairings/token', body, device);
      device.token = (await json('POST', '/api/v1/devices/token', undefined, device)).access_token;
      return Object.assign(device, { id: paired.device as string });
    },
    async open(device, { proof, headers } = {}) {
      const url = `${local.url}/api/v1/push`;
      const options = {
        headers: { ...(await device.headers('GET', url, proof)), ...headers },
        // After both have said goodbye workerd keeps the connection of a hibernating socket for another ten seconds.
        closeTimeout: 200,
      };
      const socket = new WebSocket(url.replace('http', 'ws'), options);
      sockets.push(socket);
      return opened(socket, device);
    },
    pull: (device, since) =>
      json('GET', `/api/v1/changes${since === undefined ? '' : `?since=${since}`}`, undefined, device),
    async restart() {
      await local.stop();
      local = await startLocal({ ...options, port: Number(new URL(local.url).port) });
    },
  };
}

function opened(socket: WebSocket, device: TestDevice): Promise<Socket> {
  const rings: string[] = [];
  const waiting: ((cursor: string) => void)[] = [];
  let taken = 0;
  socket.on('message', (data: RawData, binary: boolean) => {
    if (binary || !String(data).startsWith('{')) return;
    rings.push(Ring.parse(JSON.parse(String(data))).cursor);
    const next = waiting.shift();
    if (next) next(rings[taken++] as string);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  const ring = () =>
    taken < rings.length
      ? Promise.resolve(rings[taken++] as string)
      : new Promise<string>((resolve) => waiting.push(resolve));
  return new Promise((resolve, reject) => {
    socket.on('upgrade', ({ headers }) => {
      device.nonce = String(headers['dpop-nonce'] ?? '');
    });
    socket.on('unexpected-response', (_, response) => {
      device.nonce = String(response.headers['dpop-nonce'] ?? '');
      response.resume();
      reject(new Refused(response.statusCode ?? 0, String(response.headers['www-authenticate'])));
    });
    socket.on('error', reject);
    socket.on('open', () => resolve({ socket, ring, rings, closed }));
  });
}

async function addNeighbour(client: Parameters<typeof bootstrapAccount>[0], token: string): Promise<void> {
  const db = openDatabase(client);
  const accountId = newId();
  await db.insert(accounts).values({ id: accountId, name: 'neighbour', epoch: 'x', createdAt: 0 });
  const hash = await sha256(token);
  await db
    .insert(tokens)
    .values({ id: newId(), accountId, hash, name: 'neighbour', scopes: [...Scope.options], createdAt: 0 });
}

class Refused extends Error {
  readonly status: number;
  readonly challenge: string;
  constructor(status: number, challenge: string) {
    super(`refused with ${status}`);
    this.status = status;
    this.challenge = challenge;
  }
}

/** With slashes, also on Windows: it stands in import statements. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url)).replaceAll('\\', '/');
