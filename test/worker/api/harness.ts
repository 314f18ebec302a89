import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client/web';
import { onTestFinished } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { sha256 } from '../../../schema/digest.ts';
import type { Problem } from '../../../schema/errors.ts';
import { createApp } from '../../../worker/app.ts';
import { createNonces } from '../../../worker/auth/nonce.ts';
import type { SignIn } from '../../../worker/auth/sign-in.ts';
import { type Database, openDatabase } from '../../../worker/db/client.ts';
import { tokens } from '../../../worker/db/tables/programs.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import type { Deps } from '../../../worker/deps.ts';
import { createHrana } from '../../../worker/local/hrana.ts';
import { migrateDatabase } from '../../../worker/local/migrate.ts';
import type { Bell } from '../../../worker/push/bell.ts';
import { newId, newSecret } from '../../../worker/registry/random.ts';
import { createVault } from '../../../worker/registry/vault.ts';
import { readAssets } from '../dashboard/assets.ts';
import { type ProofParts, TestDevice } from '../device.ts';

export const ORIGIN = 'http://localhost:8787';

const NO_NETWORK = () => Promise.reject(new Error('nothing is to be fetched'));
const NO_SIGN_IN: SignIn = {
  oidc: null,
  access: null,
  fetch: NO_NETWORK,
};

export interface Call {
  method?: string;
  /** Sent as JSON, unless it is bytes or text. */
  body?: unknown;
  token?: string;
  device?: TestDevice;
  proof?: ProofParts;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
  problem: Problem;
}

export interface TestApi {
  app: ReturnType<typeof createApp>;
  db: Database;
  clock: { now: number };
  /** What the push room was told, and which devices it says are connected. */
  push: { told: unknown[]; online: string[]; older: Bell | null; notify(event: unknown): Promise<void> };
  /** Requests that reached the database, and every answer's text. */
  seen: { trips: number; texts: string[] };
  /** Carries each request to the database: a test may lose it, or its answer. */
  database: { send(send: () => Promise<Response>): Promise<Response> };
  addAccount(): Promise<string>;
  token(scopes?: readonly Scope[], account?: string): Promise<string>;
  /** A device paired by a token of the account, through the API. */
  pair(account?: string): Promise<TestDevice & { id: string }>;
  call(path: string, call?: Call): Promise<Answer>;
  /** Waits for what goes on after the answers. */
  settle(): Promise<void>;
}

/** The whole Worker but for the platform: a real libSQL file behind the protocol that production speaks. */
export async function openTestApi({
  loopbackOnly = false,
  signIn = NO_SIGN_IN,
  outbound = NO_NETWORK,
}: {
  loopbackOnly?: boolean;
  signIn?: SignIn;
  outbound?: Deps['outbound'];
} = {}): Promise<TestApi> {
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-api-'));
  const hrana = createHrana({ file: join(folder, 'registry.db') });
  const seen = { trips: 0, texts: [] as string[] };
  const database: TestApi['database'] = { send: (send) => send() };
  const client = createClient({
    url: 'http://libsql',
    fetch: (request: Request) => {
      seen.trips++;
      return database.send(() => hrana.fetch(request));
    },
  });
  const deferred: Promise<unknown>[] = [];
  const settle = async () => void (await Promise.all(deferred.splice(0)));
  onTestFinished(async () => {
    await settle();
    client.close();
    hrana.close();
    await rm(folder, { recursive: true, force: true });
  });
  await migrateDatabase(client, 'migrations');

  const db = openDatabase(client);
  const clock = { now: 1_800_000_000_000 };
  const now = () => clock.now;
  const push = {
    told: [] as unknown[],
    online: [] as string[],
    older: null as Bell | null,
    notify: async (event: unknown) => void push.told.push(event),
  };
  const nonces = createNonces('a secret key of more than 32 characters', now);
  const app = createApp({
    db,
    now,
    nonces,
    assets: readAssets(),
    signIn,
    outbound,
    push: {
      notify: (event) => push.notify(event),
      online: async () => push.online,
      connect: async (accountId, bell) => Response.json({ accountId, bell }),
      contested: async () => push.older,
    },
    servers: { vault: createVault('a secret key of more than 32 characters'), loopback: true },
    place: () => 'a test',
    loopbackOnly,
  });

  async function addAccount(): Promise<string> {
    const id = newId();
    await db.insert(accounts).values({ id, name: 'test', epoch: newId().slice(0, 12), createdAt: 0 });
    return id;
  }
  const first = await addAccount();

  async function token(scopes: readonly Scope[] = Scope.options, account = first): Promise<string> {
    const made = `sk_${newSecret()}`;
    await db.insert(tokens).values({
      id: newId(),
      accountId: account,
      hash: await sha256(made),
      name: 'test',
      scopes: [...scopes],
      createdAt: 0,
      lastUsedAt: clock.now,
    });
    return made;
  }

  async function call(
    path: string,
    { method = 'GET', body, headers = {}, ...who }: Call = {},
  ): Promise<Answer> {
    const url = path.startsWith('http') ? path : ORIGIN + path;
    const raw = body instanceof Uint8Array || typeof body === 'string';
    const response = await app.request(
      url,
      {
        method,
        headers: {
          ...(who.token === undefined ? {} : { authorization: `Bearer ${who.token}` }),
          ...(who.device ? await who.device.headers(method, url, who.proof) : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
      },
      undefined,
      {
        waitUntil: (work: Promise<unknown>) => void deferred.push(work),
        passThroughOnException() {},
        props: {},
      },
    );
    const nonce = response.headers.get('dpop-nonce');
    if (who.device && nonce) who.device.nonce = nonce;
    const text = await response.text();
    seen.texts.push(text);
    const isJson = text !== '' && response.headers.get('content-type')?.includes('json');
    const json = isJson ? JSON.parse(text) : null;
    return { status: response.status, headers: response.headers, text, json, problem: json };
  }

  async function pair(account = first): Promise<TestDevice & { id: string }> {
    const device = await TestDevice.make();
    device.nonce = await nonces.make();
    const { json: pairing } = await call('/api/v1/pairings', {
      method: 'POST',
      device,
      body: { name: 'laptop', platform: 'linux' },
    });
    await call(`/api/v1/pairings/${pairing.user_code}/approve`, {
      method: 'POST',
      token: await token(Scope.options, account),
    });
    const { json: paired } = await call('/api/v1/pairings/token', {
      method: 'POST',
      device,
      body: { device_code: pairing.device_code },
    });
    const { json: access } = await call('/api/v1/devices/token', { method: 'POST', device });
    device.token = access.access_token;
    return Object.assign(device, { id: paired.device as string });
  }

  return { app, db, clock, push, seen, database, addAccount, token, pair, call, settle };
}
