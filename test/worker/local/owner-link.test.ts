import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@libsql/client/http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { openDatabase } from '../../../worker/db/client.ts';
import { links, passkeys } from '../../../worker/db/tables/people.ts';
import { createHrana } from '../../../worker/local/hrana.ts';
import { migrateDatabase } from '../../../worker/local/migrate.ts';
import { type OwnerLinkOptions, ownerLink } from '../../../worker/local/owner-access.ts';
import { StartError } from '../../../worker/local/start-error.ts';
import { bootstrapAccount } from '../../../worker/registry/bootstrap.ts';
import { nobodysPasskey } from '../auth/nobodys-passkey.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

let folder: string;
let ends: (() => unknown)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'owner-link-'));
  ends = [() => rm(folder, { recursive: true })];
});

afterEach(async () => {
  for (const end of ends.reverse()) await end();
});

/** A database elsewhere, with an account that was bootstrapped. */
async function far() {
  const hrana = createHrana({ file: join(folder, 'far.db') });
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { method = 'GET', url = '/' } = request;
    const answer = await hrana.fetch(
      new Request(`http://far${url}`, { method, ...(method === 'POST' ? { body } : {}) }),
    );
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = createClient({ url: 'http://far', fetch: hrana.fetch });
  ends.push(() => {
    client.close();
    server.close();
    hrana.close();
  });
  await migrateDatabase(client, join(ROOT, 'migrations'));
  await bootstrapAccount(client, async () => undefined);
  const db = openDatabase(client);
  const env = { DATABASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const kept = async (link: string) => {
    const hash = await sha256(new URL(link).hash.slice(1));
    return (await db.select().from(links)).find((row) => row.hash === hash);
  };
  return { db, env, kept };
}

async function addPasskey({ db }: Awaited<ReturnType<typeof far>>, accountId: string): Promise<void> {
  await db.insert(passkeys).values(nobodysPasskey(accountId));
}

test('check 21: who can write to the database makes the owner link, and the way back for an owner', async () => {
  const world = await far();
  const make = (account?: string) =>
    ownerLink(world.env, {
      url: 'https://registry.example/somewhere',
      ...(account === undefined ? {} : { account }),
    });
  const first = await make();
  expect(first).toMatch(/^https:\/\/registry\.example\/setup#[\w-]{43}$/);
  const owner = await world.kept(first);
  expect(owner).toMatchObject({ type: 'owner', usedAt: null });

  const second = await make();
  expect(await world.kept(first)).toBeUndefined();
  expect(await world.kept(second)).toMatchObject({ type: 'owner' });

  await addPasskey(world, owner?.accountId ?? '');
  for (const named of [undefined, 'owner', owner?.accountId ?? '']) {
    const back = await world.kept(await make(named));
    expect(back).toMatchObject({ type: 'recovery', accountId: owner?.accountId });
  }
});

test('what is missing is said in one sentence, and no link is made', async () => {
  const world = await far();
  const url = 'https://registry.example';
  const cases: [OwnerLinkOptions, Record<string, string>, RegExp][] = [
    [{ url }, {}, /^DATABASE_URL must be set/],
    [{ url: 'http://registry.example' }, world.env, /--url https:/],
    [{ url: 'http://127.0.0.1:8787' }, world.env, /passkeys are for that host name/],
    [{ url, account: 'nobody' }, world.env, /no account nobody; there are: owner/],
    [{ url }, { DATABASE_URL: 'http://127.0.0.1:1' }, /check DATABASE_URL/],
    [{ data: join(folder, 'none') }, {}, /^There is no registry in /],
  ];
  for (const [options, env, sentence] of cases) {
    const refused = await ownerLink(env, options).catch((error: Error) => error);
    expect(refused).toBeInstanceOf(StartError);
    expect((refused as Error).message).toMatch(sentence);
  }
  expect(await world.db.select().from(links)).toEqual([]);
});

test('npm start prints the owner link; npm run owner-link makes another one while it runs, and after', async () => {
  const data = join(folder, 'data');
  const child = spawn(process.execPath, ['worker/local/start.ts', '--port', '0', '--data', data], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  ends.push(() => child.kill('SIGKILL'));
  const logged = text(child.stderr);
  const [out] = await once(child.stdout, 'data');
  const [started = ''] = /http:\/\/localhost:\d+\/setup#[\w-]{43}/.exec(String(out)) ?? [];
  expect(started, String(out)).not.toBe('');
  const { origin } = new URL(started);
  const typeOf = async (link: string) => {
    const response = await fetch(`${origin}/auth/setup/options`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ token: new URL(link).hash.slice(1) }),
    });
    const { type, code } = (await response.json()) as { type: string; code?: string };
    return code ?? type;
  };
  expect(await typeOf(started)).toBe('owner');

  const flags = ['worker/local/owner-link.ts', '--data', data];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, flags, { cwd: ROOT });
  expect([stdout.split('#')[0], stderr]).toEqual([`${origin}/setup`, '']);
  expect([await typeOf(started), await typeOf(stdout.trim())]).toEqual(['expired_token', 'owner']);

  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  for (const link of [started, stdout.trim()]) expect(await logged).not.toContain(link.split('#')[1]);
  expect(await ownerLink({}, { data })).toMatch(new RegExp(`^${origin}/setup#[\\w-]{43}$`));
}, 120_000);
