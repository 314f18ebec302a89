import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { createClient } from '@libsql/client/http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openDatabase } from '../../worker/db/client.ts';
import { type Local, startLocal } from '../../worker/local/serve.ts';
import { bootstrapAccount } from '../../worker/registry/bootstrap.ts';
import { newSecret } from '../../worker/registry/random.ts';
import { buildProgram, Computer } from '../agent/cli/harness.ts';
import type { Answer, Call } from '../worker/api/harness.ts';
import { Browser } from '../worker/auth/browser.ts';
import { challengeOf } from '../worker/auth/oauth-harness.ts';
import { dumpDatabase } from '../worker/dump.ts';
import { secretsIn, tapWire } from './wire.ts';

const CALLBACK = 'https://claude.ai/api/mcp/auth_callback';

let folder: string;
let local: Local;
let client: ReturnType<typeof createClient>;
let wire: Awaited<ReturnType<typeof tapWire>>;
let computers: Computer[];
const workerLog: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'repertoire-secrecy-'));
  local = await startLocal({
    port: 0,
    data: join(folder, 'data'),
    log: (line) => workerLog.push(line),
    async bootstrap(...[given, keep]: Parameters<typeof bootstrapAccount>) {
      client = given as typeof client;
      await bootstrapAccount(given, keep);
    },
  });
  wire = await tapWire(local.url);
  const program = await buildProgram(folder);
  computers = ['laptop', 'desk'].map((name) => new Computer(folder, name, program));
}, 120_000);

afterAll(async () => {
  for (const computer of computers ?? []) computer.end();
  wire?.close();
  await local?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call(url: string, { method = 'GET', body, headers = {}, token }: Call = {}): Promise<Answer> {
  const response = await fetch(url.startsWith('/') ? wire.origin + url : url, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : null;
  return { status: response.status, headers: response.headers, text, json, problem: json };
}

const newBrowser = (authenticator?: Browser['authenticator']) =>
  new Browser({ call }, wire.origin, authenticator);
const fragmentOf = (link: string | null) => new URL(link ?? '').hash.slice(1);
const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  call(path, {
    method: 'POST',
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

/** Signing in, in every way and with every mistake. Gives the owner's browser. */
async function signIn(): Promise<Browser> {
  const owner = newBrowser();
  const link = fragmentOf(await local.makeOwnerLink());
  const made = await owner.setUp(link);
  expect(made.status).toBe(200);
  expect((await newBrowser().setUp(link)).status).toBeGreaterThanOrEqual(400);

  expect((await owner.post('/auth/logout')).status).toBe(204);
  expect((await owner.logIn({ badSignature: true })).status).toBeGreaterThanOrEqual(400);
  expect((await owner.logIn({ origin: 'https://evil.example' })).status).toBeGreaterThanOrEqual(400);
  expect((await owner.logIn()).status).toBe(204);
  expect((await owner.check()).status).toBe(204);
  expect((await owner.addPasskey()).status).toBe(201);

  const [code = ''] = made.json.recovery_codes as string[];
  expect((await newBrowser().post('/auth/login/recovery', { code })).status).toBe(204);
  expect((await newBrowser().post('/auth/login/recovery', { code })).status).toBeGreaterThanOrEqual(400);
  expect((await owner.post('/api/v1/recovery-codes')).status).toBe(201);

  const { json: invitation } = await owner.post('/api/v1/invitations', { name: 'a guest' });
  const guest = newBrowser();
  expect((await guest.setUp(fragmentOf(invitation.url), { account_name: 'guest' })).status).toBe(200);
  expect((await newBrowser().setUp(fragmentOf(invitation.url))).status).toBeGreaterThanOrEqual(400);
  return owner;
}

/** An application is let in, used, misused and sent away. */
async function connectApplication(owner: Browser): Promise<{ refresh: string; access: string; id: string }> {
  const { json: app } = await call('/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: { client_name: 'Claude', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' },
  });
  const verifier = newSecret();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: CALLBACK,
    scope: 'skills:read skills:write',
    state: 'a state',
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
    resource: `${wire.origin}/mcp`,
  });
  const page = await owner.call('GET', `/authorize?${query}`);
  const handle = /name="handle" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const decision = { handle, decision: 'allow' };
  const allowed = await post('/authorize', decision, owner.headers);
  const code = new URL(allowed.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const redeem = (more: Record<string, string> = {}) =>
    post('/token', {
      grant_type: 'authorization_code',
      client_id: app.client_id,
      redirect_uri: CALLBACK,
      code,
      code_verifier: verifier,
      ...more,
    });
  const { json: first } = await redeem();
  const refresh = (token: string) =>
    post('/token', { grant_type: 'refresh_token', client_id: app.client_id, refresh_token: token });
  const { json: tokens } = await refresh(first.refresh_token);
  const used = await call('/mcp', {
    method: 'POST',
    token: tokens.access_token,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });
  expect(used.status).toBe(200);
  // Mistakes that quote what they were given, if anything does.
  const failing = [
    await post('/authorize', decision, owner.headers),
    await refresh(`${tokens.refresh_token}x`),
    await call('/mcp', { method: 'POST', token: `${tokens.access_token}x`, body: {} }),
    await call('/api/v1/items', { token: tokens.access_token }),
    await redeem({ client_id: 'another' }),
  ];
  for (const { status } of failing) expect(status).toBeGreaterThanOrEqual(400);
  return { refresh: tokens.refresh_token, access: tokens.access_token, id: app.client_id };
}

/** Two computers are paired, by a person and by a token; one keeps up with changes. */
async function pairComputers(owner: Browser, token: string) {
  const [laptop, desk] = computers as [Computer, Computer];
  laptop.write({ '.claude/x': '' });
  const pairing = laptop.start(['pair', wire.origin, '--name', 'laptop']);
  const [, code = ''] = await pairing.saw(/Code +([A-Z]{4}-[A-Z]{4})/);
  expect((await owner.post(`/api/v1/pairings/${code}/approve`)).status).toBe(200);
  const paired = await pairing.ended;
  expect(paired.code).toBe(0);

  const tokenFile = join(folder, 'token.json');
  writeFileSync(tokenFile, JSON.stringify({ url: wire.origin, token }));
  const byToken = await desk.run(['pair', '--token-file', tokenFile, '--name', 'desk']);
  expect(byToken.code).toBe(0);
  const agent = laptop.start(['run', '--json']);
  await agent.saw(/Listening for changes/);
  await desk.run(['status']);
  return { agent, tokenFile, desk, said: [paired, byToken] };
}

test('the whole run’s logs, errors and addresses hold no token, code, passkey challenge or owner link', async () => {
  const consoles: unknown[][] = [];
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...line) => void consoles.push(line));

  const owner = await signIn();
  const { json: made } = await owner.post('/api/v1/tokens', {
    name: 'script',
    scopes: ['skills:read', 'skills:write', 'devices:write'],
    days: 1,
  });
  const application = await connectApplication(owner);
  const { agent, tokenFile, desk, said } = await pairComputers(owner, made.token);
  const item = { kind: 'skill', name: 'a', description: 'A.', instructions: 'A.' };
  expect((await call('/api/v1/items', { method: 'POST', token: made.token, body: item })).status).toBe(201);
  await agent.saw(/wrote skill a/);

  // Each failure of the database is an error in the Worker's log.
  const database = await dumpDatabase(openDatabase(client), ['challenges.challenge']);
  const tables = ['tokens', 'sessions', 'oauth_records', 'challenges', 'links', 'recovery_codes', 'pairings'];
  for (const table of [...tables, 'passkeys', 'device_tokens'])
    await client.execute(`alter table ${table} rename to ${table}_away`);
  const broken = [
    await call('/api/v1/items', { token: made.token }),
    await owner.call('GET', '/account', undefined, { accept: 'text/html' }),
    await owner.post('/api/v1/tokens', { name: 'n', scopes: ['skills:read'], days: 1 }),
    await owner.post('/auth/setup/options', { token: newSecret() }),
    await owner.post('/auth/login/recovery', { code: 'ABCDE-FGHJK-MNPQR-STVWX' }),
    await post('/token', {
      grant_type: 'refresh_token',
      client_id: application.id,
      refresh_token: application.refresh,
    }),
    await call('/mcp', { method: 'POST', token: application.access, body: {} }),
  ];
  const deskBroken = await desk.run(['list']);
  for (const table of [...tables, 'passkeys', 'device_tokens'])
    await client.execute(`alter table ${table}_away rename to ${table}`);
  for (const { status } of broken) expect(status).toBeGreaterThanOrEqual(400);
  await expect.poll(() => workerLog.length, { timeout: 60_000 }).toBeGreaterThan(3);

  const { json: tokens } = await owner.call('GET', '/api/v1/tokens');
  const id = tokens.tokens.find(({ name }: { name: string }) => name === 'script').id;
  expect((await owner.call('DELETE', `/api/v1/tokens/${id}`)).status).toBe(204);
  const refused = await desk.run(['list', '--token-file', tokenFile]);
  expect(refused.code).toBe(1);
  expect((await owner.check()).status).toBe(204);
  expect((await owner.post('/api/v1/revoke-all')).status).toBe(200);
  const ended = await agent.ended;
  expect(ended.code).toBe(0);
  const unpaired = await desk.run(['list']);
  vi.restoreAllMocks();

  const secrets = secretsIn(wire.exchanges);
  const { secret_key } = JSON.parse(readFileSync(join(folder, 'data/secret.json'), 'utf8'));
  secrets.set(secret_key, 'the Worker’s key').set(local.ownerToken ?? '', 'the owner’s token');
  for (const computer of computers) {
    const { d } = JSON.parse(readFileSync(join(computer.home, 'state/device-key.json'), 'utf8'));
    if (typeof d === 'string') secrets.set(d, 'a device’s key');
  }
  expect([...new Set([...secrets.values()].map((where) => where.split(' of ')[0]))].sort()).toEqual([
    'a cookie',
    'a device’s key',
    'access_token',
    'challenge',
    'clientDataJSON',
    'code',
    'code_verifier',
    'device_code',
    'recovery_codes',
    'refresh_token',
    'signature',
    'the Worker’s key',
    'the code',
    'the credential',
    'the handle',
    'the owner’s token',
    'the proof',
    'token',
  ]);

  const shown: [string, string][] = [
    ['the Worker’s log', workerLog.join('\n')],
    ['the log of what runs the Worker', JSON.stringify(consoles.map((line) => line.map(String)))],
    ['the database', JSON.stringify(database)],
    ...[...said, deskBroken, refused, ended, unpaired].map(({ stdout, stderr }): [string, string] => [
      'a terminal',
      stdout + stderr,
    ]),
  ];
  for (const { url, sent, status, answer } of wire.exchanges) {
    shown.push([`the address ${url}`, decodeURIComponent(url)]);
    shown.push(['a Referer', sent.headers.referer ?? '']);
    const { 'set-cookie': _, location = '', ...headers } = answer.headers;
    shown.push([`headers of ${url}`, JSON.stringify(headers)]);
    // The one redirect that carries a code takes it to whom it is for.
    if (!location.startsWith(CALLBACK)) shown.push([`the redirect of ${url}`, location]);
    if (status >= 400) shown.push([`the error of ${url}`, answer.body]);
  }
  const leaks = shown.flatMap(([place, text]) =>
    [...secrets].filter(([secret]) => text.includes(secret)).map(([, where]) => `${where} in ${place}`),
  );
  expect(leaks).toEqual([]);
}, 300_000);
