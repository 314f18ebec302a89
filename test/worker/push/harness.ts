import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import { Ring } from '../../../schema/push.ts';
import { startLocal } from '../../../worker/local/serve.ts';
import { type ProofParts, TestDevice } from '../device.ts';

export interface Running {
  readonly url: string;
  readonly token: string;
  call(method: string, path: string, body?: unknown): Promise<Response>;
  pair(): Promise<PairedDevice>;
  /** Opens a device's socket; rejects with the HTTP answer's status where that is refused. */
  open(device: PairedDevice, options?: OpenOptions): Promise<Socket>;
  pull(device: PairedDevice, since?: string): Promise<{ cursor: string; items: { name: string }[] }>;
  /** Stops, and starts again on the same data: every object is new. */
  restart(): Promise<void>;
}

export type PairedDevice = TestDevice & { id: string };

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

/** The real thing on a free port: workerd, the Worker, libSQL on a file. `entry` is TypeScript around the Worker. */
export async function run({ entry }: { entry?: string } = {}): Promise<Running> {
  const data = await mkdtemp(join(tmpdir(), 'repertoire-push-'));
  const options = { port: 0, data, ...(entry === undefined ? {} : { entry: join(data, 'entry.ts') }) };
  if (entry !== undefined) await writeFile(join(data, 'entry.ts'), entry);
  let local = await startLocal(options);
  const token = local.ownerToken ?? '';
  const sockets: WebSocket[] = [];
  afterAll(async () => {
    for (const socket of sockets) socket.terminate();
    await local.stop();
    await rm(data, { recursive: true, force: true });
  });

  async function send(
    method: string,
    path: string,
    init: RequestInit,
    device?: TestDevice,
  ): Promise<Response> {
    const url = local.url + path;
    const auth = device ? await device.headers(method, url) : { authorization: `Bearer ${token}` };
    const response = await fetch(url, { method, ...init, headers: auth });
    const nonce = response.headers.get('dpop-nonce');
    if (device && nonce) device.nonce = nonce;
    return response;
  }

  async function json(method: string, path: string, body: unknown, device?: TestDevice) {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    let response = await send(method, path, init, device);
    if (response.status === 401 && device) response = await send(method, path, init, device);
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
    call: (method, path, body) =>
      send(method, path, body === undefined ? {} : { body: JSON.stringify(body) }),
    async pair() {
      const device = await TestDevice.make();
      const pairing = await json('POST', '/api/v1/pairings', { name: 'laptop', platform: 'linux' }, device);
      await json('POST', `/api/v1/pairings/${pairing.user_code}/approve`, undefined);
      const body = { device_code: pairing.device_code };
      const paired = await json('POST', '/api/v1/pairings/token', body, device);
      device.token = (await json('POST', '/api/v1/devices/token', undefined, device)).access_token;
      return Object.assign(device, { id: paired.device as string });
    },
    async open(device, { proof, headers } = {}) {
      const url = `${local.url}/api/v1/push`;
      const socket = new WebSocket(url.replace('http', 'ws'), {
        // After both have said goodbye workerd keeps the connection of a hibernating socket for another ten seconds.
        closeTimeout: 200,
        headers: { ...(await device.headers('GET', url, proof)), ...headers },
      });
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

export class Refused extends Error {
  readonly status: number;
  readonly challenge: string;
  constructor(status: number, challenge: string) {
    super(`refused with ${status}`);
    this.status = status;
    this.challenge = challenge;
  }
}

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
