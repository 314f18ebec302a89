import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endOrphan } from '../../../worker/local/orphan.ts';
import { type Local, startLocal } from '../../../worker/local/serve.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const WORKER = `
export class Doorbell {}
export default { fetch: () => new Response('small') };`;

let folder: string;
let data: string;
let entry: string;
let running: Local[];
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'killed-'));
  data = join(folder, 'data');
  entry = join(folder, 'worker.ts');
  running = [];
  children = [];
  await writeFile(entry, WORKER);
});

afterEach(async () => {
  for (const local of running) await local.stop();
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

async function start(options: { port?: number } = {}): Promise<Local> {
  const local = await startLocal({ port: 0, data, entry, ...options });
  running.push(local);
  return local;
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

test.skipIf(process.platform === 'win32')(
  'after a kill the next start has the port, the data and the token of the last',
  async () => {
    const child = spawn(
      process.execPath,
      ['worker/local/start.ts', '--port', '0', '--data', data, '--json'],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    children.push(child);
    const [line] = await once(child.stdout as Readable, 'data');
    const { url } = JSON.parse(String(line));
    const { token } = JSON.parse(await readFile(join(data, 'owner.json'), 'utf8'));
    const call = (method: string, body?: object) =>
      fetch(`${url}/api/v1/items`, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    const written: string[] = [];
    const writing = Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let i = 0; ; i++) {
          const name = `item-${writer}-${i}`;
          const body = { kind: 'skill', name, description: 'A.', instructions: 'A.' };
          const answer = await call('POST', body).catch(() => null);
          if (answer?.status !== 201) return;
          written.push(name);
          if (written.length === 20) child.kill('SIGKILL');
        }
      }),
    );
    await once(child, 'exit');
    const again = await startLocal({ port: Number(new URL(url).port), data });
    running.push(again);
    await writing;
    expect([again.url, again.ownerToken]).toEqual([url, token]);
    const { items } = (await (await call('GET')).json()) as { items: { name: string }[] };
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(written));
    await again.stop();
    running.pop();
    expect(await exists(join(data, 'workerd.json'))).toBe(false);
  },
);

test('a note of another process, or one that cannot be read, ends nothing', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  children.push(child);
  await once(child, 'spawn');
  const note = join(folder, 'workerd.json');
  for (const text of [JSON.stringify({ pid: child.pid, command: 'workerd serve' }), '{"pid":-1}', '{', '']) {
    await writeFile(note, text);
    await endOrphan(folder);
  }
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

test('a database that is damaged inside is said to be, in one sentence', async () => {
  await (await start()).stop();
  running.pop();
  const path = join(data, 'registry.db');
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  // The first page holds the header, by which it still passes for a database.
  await file.write(Buffer.alloc(size - 4096, 0xa5), 0, size - 4096, 4096);
  await file.close();
  await expect(start()).rejects.toThrow(`${path} is no readable database; put back a copy from a backup.`);
});

test('a secret that the Worker would refuse is one that cannot be read', async () => {
  await (await start()).stop();
  running.pop();
  const path = join(data, 'secret.json');
  await writeFile(path, '{"secret_key":""}');
  await expect(start()).rejects.toThrow(`${path} cannot be read; repair it`);
});
