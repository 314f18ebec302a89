import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Client } from '@libsql/client/http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Local, startLocal } from '../../../worker/local/serve.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

// Talks to the database as the real Worker does, and shows what it was given.
const WORKER = `
import { createClient } from ${JSON.stringify(join(ROOT, 'node_modules/@libsql/client/lib-esm/web.js'))};
export class Doorbell { fetch() { return new Response('ding'); } }
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const client = createClient({ url: 'http://libsql', fetch: env.LIBSQL.fetch.bind(env.LIBSQL) });
    switch (url.pathname) {
      case '/origin': return new Response(url.origin);
      case '/secret': return new Response(env.SECRET_KEY);
      case '/bell': return env.DOORBELL.get(env.DOORBELL.idFromName('x')).fetch('http://doorbell/');
      case '/out': return fetch(url.searchParams.get('to')).then(() => new Response('reached'), () => new Response('refused'));
      case '/count': return Response.json((await client.execute('SELECT count(*) AS n FROM notes')).rows[0].n);
      case '/write': return client.batch([
        { sql: 'INSERT INTO guards VALUES (?)', args: [Number(url.searchParams.get('ok'))] },
        "INSERT INTO notes VALUES ('x')",
        'DELETE FROM guards',
      ], 'write').then(() => new Response('written'), (error) => new Response(error.code + ' ' + error.message));
      case '/log': console.log('a line of the Worker'); return new Response('logged');
    }
    return new Response('', { status: 404 });
  },
};`;

let folder: string;
let data: string;
let running: Local[];
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-'));
  data = join(folder, 'data');
  running = [];
  children = [];
  await writeFile(join(folder, 'worker.ts'), WORKER);
  await writeMigrations(
    'CREATE TABLE notes (text TEXT);',
    'CREATE TABLE guards (ok INTEGER CHECK (ok = 1));',
  );
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const local of running) await local.stop();
  await rm(folder, { recursive: true });
});

async function writeMigrations(...statements: string[]): Promise<void> {
  await mkdir(join(folder, 'migrations', 'meta'), { recursive: true });
  const entries = statements.map((_, i) => ({ idx: i, when: 1000 + i, tag: `000${i}`, breakpoints: true }));
  await writeFile(join(folder, 'migrations', 'meta', '_journal.json'), JSON.stringify({ entries }));
  for (const [i, statement] of statements.entries())
    await writeFile(join(folder, 'migrations', `000${i}.sql`), statement);
}

async function bootstrap(client: Client, keep: (token: string) => Promise<void>): Promise<void> {
  await client.execute('CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY)');
  const { rowsAffected } = await client.execute('INSERT INTO account VALUES (1) ON CONFLICT DO NOTHING');
  if (rowsAffected === 1) await keep(`token-${Math.random()}`);
}

async function start(options: Partial<Parameters<typeof startLocal>[0]> = {}): Promise<Local> {
  const local = await startLocal({
    port: 0,
    data,
    entry: join(folder, 'worker.ts'),
    migrations: join(folder, 'migrations'),
    bootstrap,
    ...options,
  });
  running.push(local);
  return local;
}

const get = async (local: Local, path: string): Promise<string> =>
  (await fetch(`${local.url}${path}`)).text();

const owner = async (): Promise<{ url: string; token: string }> =>
  JSON.parse(await readFile(join(data, 'owner.json'), 'utf8'));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('startLocal', () => {
  test('runs the Worker with its bindings, its database and its own address', async () => {
    const lines: string[] = [];
    const local = await start({ log: (line) => lines.push(line) });
    expect(local.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await get(local, '/origin')).toBe(local.url);
    expect(await get(local, '/bell')).toBe('ding');
    expect(Buffer.from(await get(local, '/secret'), 'base64url')).toHaveLength(32);
    expect(await get(local, '/write?ok=1')).toBe('written');
    expect(await get(local, '/write?ok=0')).toContain('SQLITE_CONSTRAINT');
    expect(await get(local, '/count')).toBe('1');
    await get(local, '/log');
    await expect.poll(() => lines).toContain('a line of the Worker');
  });

  test('the Worker reaches loopback addresses only when that is allowed', async () => {
    const to = `/out?to=${encodeURIComponent((await start()).url)}`;
    expect(await get(running[0] as Local, to)).toBe('refused');
    expect(await get(await start({ data: join(folder, 'other'), allowLoopback: true }), to)).toBe('reached');
  });

  test('writes the owner file and the secret for their owner only', async () => {
    const local = await start();
    expect(await owner()).toEqual({ url: local.url, token: local.ownerToken });
    expect(local.ownerFile).toBe(join(data, 'owner.json'));
    if (process.platform !== 'win32') {
      for (const name of ['owner.json', 'secret.json', 'registry.db']) {
        expect((await stat(join(data, name))).mode & 0o777).toBe(0o600);
      }
      expect((await stat(data)).mode & 0o777).toBe(0o700);
    }
  });

  test('a second start keeps data, secret and token, and writes down the new address', async () => {
    const first = await start({ port: await freePort() });
    const [secret, { token }] = [await get(first, '/secret'), await owner()];
    await get(first, '/write?ok=1');
    await first.stop();
    const second = await start({ port: await freePort() });
    expect(second.url).not.toBe(first.url);
    expect(await owner()).toEqual({ url: second.url, token });
    expect(second.ownerToken).toBe(token);
    expect(await get(second, '/secret')).toBe(secret);
    expect(await get(second, '/count')).toBe('1');
  });

  test('migrations that came since are applied to what is there', async () => {
    const first = await start();
    await get(first, '/write?ok=1');
    await first.stop();
    await writeMigrations(
      'CREATE TABLE notes (text TEXT);',
      'CREATE TABLE guards (ok INTEGER CHECK (ok = 1));',
      "INSERT INTO notes VALUES ('migrated');",
    );
    expect(await get(await start(), '/count')).toBe('2');
  });
});

describe('startLocal refuses with one sentence, and leaves nothing running', () => {
  const afterwards = async (): Promise<void> => {
    await expect(start()).resolves.toMatchObject({ ownerToken: expect.any(String) });
  };

  test('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await expect(start({ port })).rejects.toThrow(
      `Port ${port} is in use; choose another with --port, or stop what listens there.`,
    );
    server.close();
    await afterwards();
  });

  test('a data folder that cannot be made', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(start({ data: join(folder, 'file', 'data') })).rejects.toThrow(
      `${join(folder, 'file', 'data')} is no folder, or lies below a file; name another with --data.`,
    );
    await expect(start({ data: join(folder, 'file') })).rejects.toThrow('is no folder');
  });

  test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
    'a data folder without permission',
    async () => {
      await mkdir(data);
      await chmod(data, 0o500);
      await expect(start()).rejects.toThrow(`${data} cannot be written (EACCES)`);
      await chmod(data, 0o700);
      await afterwards();
    },
  );

  test('a database from a newer version', async () => {
    await (await start()).stop();
    await writeMigrations('CREATE TABLE notes (text TEXT);');
    await expect(start()).rejects.toThrow(
      `The database in ${data} is from a newer version of Repertoire; update this one to use it.`,
    );
  });

  test('a database that is none', async () => {
    await mkdir(data);
    await writeFile(
      join(data, 'registry.db'),
      'no database, but long enough to be read as a header'.repeat(20),
    );
    await expect(start()).rejects.toThrow('is no readable database; put back a copy from a backup.');
  });

  test('a secret or an owner file that cannot be read, which stays as it is', async () => {
    await (await start()).stop();
    for (const name of ['owner.json', 'secret.json']) {
      const kept = await readFile(join(data, name), 'utf8');
      await writeFile(join(data, name), '{');
      await expect(start()).rejects.toThrow(`${join(data, name)} cannot be read; repair it`);
      expect(await readFile(join(data, name), 'utf8')).toBe('{');
      await writeFile(join(data, name), kept);
    }
    await afterwards();
  });

  test('the same data folder a second time', async () => {
    const first = await start();
    await expect(start()).rejects.toThrow(
      `Repertoire is already running on ${data}; stop it first, or choose another --data.`,
    );
    expect(await get(first, '/count')).toBe('0');
  });
});

describe('npm start', () => {
  const command = (...flags: string[]): ChildProcess => {
    const child = spawn(process.execPath, ['worker/local/start.ts', ...flags], { cwd: ROOT, stdio: 'pipe' });
    children.push(child);
    return child;
  };

  test('prints where everything is, and ends cleanly when asked to', async () => {
    const child = command('--port', '0', '--data', data, '--json');
    const [line] = await once(child.stdout as Readable, 'data');
    const { url, ...facts } = JSON.parse(String(line));
    expect(facts).toEqual({
      mcp: `${url}/mcp`,
      pair: `npm run -s repertoire -- pair ${url}`,
      owner_file: join(data, 'owner.json'),
    });
    expect(await owner()).toMatchObject({ url });
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(await readdir(data)).toEqual(['owner.json', 'registry.db', 'secret.json']);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('--demo shows an edit arrive on two devices, with both folder trees', async () => {
    const child = command('--demo');
    let stdout = '';
    child.stdout?.on('data', (chunk) => (stdout += chunk));
    expect(await once(child, 'close')).toEqual([0, null]);
    for (const device of ['laptop', 'desktop']) {
      expect(stdout).toMatch(
        new RegExp(`^  ${device} +had it on disk \\d+ ms after the call was sent$`, 'm'),
      );
      const [, tree = ''] = stdout.split(`\n${device}\n`);
      expect(tree).toMatch(/^ {2}\.agents\/\n {4}skills\/\n {6}meeting-minutes\/\n {8}SKILL\.md$/m);
      expect(tree).toMatch(/^ {4}agents\/\n {6}careful-reviewer\.(md|toml)$/m);
    }
  });

  test('says why it cannot start, and exits with 1', async () => {
    await writeFile(join(folder, 'file'), '');
    const child = command('--data', join(folder, 'file', 'data'));
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(stderr).toMatch(/^[^\n]+ lies below a file; name another with --data\.\n$/);
  });

  test.each([
    ['--port', 'x', "Option '--port <number>' argument 'x' is invalid. It is a number from 0 to 65535."],
    ['--dat', 'x', "Unknown option '--dat'; did you mean --data?"],
  ])('wrong usage, such as %s %s, ends it with 2', async (flag, value, sentence) => {
    const child = command(flag, value);
    let stderr = '';
    child.stderr?.on('data', (chunk) => (stderr += chunk));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(stderr).toBe(`${sentence}\n"npm start -- --help" says more.\n`);
  });
});
