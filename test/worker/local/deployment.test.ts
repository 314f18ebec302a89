import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createClient } from '@libsql/client/http';
import { eq } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { openDatabase } from '../../../worker/db/client.ts';
import { links, passkeys } from '../../../worker/db/tables/people.ts';
import { deploy } from '../../../worker/local/deployment.ts';
import { createHrana } from '../../../worker/local/hrana.ts';
import { StartError } from '../../../worker/local/start-error.ts';
import { nobodysPasskey } from '../auth/nobodys-passkey.ts';

const ORIGIN = 'https://repertoire.someone.workers.dev';

/** An empty database elsewhere, and a stand-in for wrangler, which says to programs what wrangler says. */
async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'deployment-'));
  const hrana = createHrana({ file: join(folder, 'far.db') });
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const body = await text(request);
    const answer = await hrana.fetch(
      new Request(`http://far${url}`, { method, ...(method === 'POST' ? { body } : {}) }),
    );
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = createClient({ url: 'http://far', fetch: hrana.fetch });
  onTestFinished(async () => {
    client.close();
    server.close();
    hrana.close();
    await rm(folder, { recursive: true });
  });

  const db = openDatabase(client);
  const data = join(folder, 'data');
  const said: string[] = [];
  const uploads: { file: string; mode: number; secrets: Record<string, string>; saidBefore: string }[] = [];
  const env = {
    DATABASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    DATABASE_AUTH_TOKEN: 'a token of the database',
  };
  const targets: string[] = [new URL(ORIGIN).host];
  async function wrangler(args: readonly string[], given: NodeJS.ProcessEnv): Promise<void> {
    const [command, option, file = ''] = args;
    expect([command, option]).toEqual(['deploy', '--secrets-file']);
    const secrets = JSON.parse(readFileSync(file, 'utf8'));
    uploads.push({ file, mode: statSync(file).mode & 0o777, secrets, saidBefore: said.join('\n') });
    const lines = [{ type: 'wrangler-session' }, { type: 'deploy', targets }];
    const output = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeFile(given.WRANGLER_OUTPUT_FILE_PATH ?? '', output);
  }
  /** Deploys once, and gives what was said. */
  async function run(more: NodeJS.ProcessEnv = {}): Promise<string> {
    said.length = 0;
    await deploy({ ...env, ...more }, { data }, { wrangler, say: (line) => void said.push(line) });
    return said.join('\n');
  }
  return { db, data, env, targets, uploads, run };
}

const LINK = /https:\/\/\S+\/setup#([\w-]{43})/;

test('a deployment says that passkeys are at home at its host name: before the upload, and with the owner link', async () => {
  const { db, uploads, run } = await open();
  const first = await run();
  const [{ saidBefore } = { saidBefore: '' }] = uploads;
  expect(saidBefore).toContain('Passkeys belong to the host name');
  expect(saidBefore).toContain('name it in wrangler.toml before you deploy');
  expect(saidBefore).not.toMatch(LINK);
  expect(first).toContain(`MCP URL        ${ORIGIN}/mcp`);
  expect(first.indexOf('at repertoire.someone.workers.dev.')).toBeGreaterThan(saidBefore.length);
  expect(first.indexOf('at repertoire.someone.workers.dev.')).toBeLessThan(first.indexOf('Owner link'));
  const [link = '', token = ''] = LINK.exec(first) ?? [];
  expect(link.startsWith(`${ORIGIN}/setup#`)).toBe(true);
  const [kept] = await db.select().from(links);
  expect(kept).toMatchObject({ hash: await sha256(token), type: 'owner', usedAt: null });

  const again = await run();
  expect(again).toContain('Passkeys belong to the host name');
  expect(LINK.exec(again)?.[1]).not.toBe(token);

  await db.insert(passkeys).values(nobodysPasskey(kept?.accountId ?? ''));
  const owned = await run();
  expect(owned).not.toMatch(/Passkeys|Owner|setup/);
  expect(owned).toContain(`MCP URL        ${ORIGIN}/mcp`);
});

test('a build service prints no owner link, and leaves alive the one that a person has', async () => {
  const { db, run } = await open();
  const [, token = ''] = LINK.exec(await run()) ?? [];
  const printed = await run({ CI: 'true' });
  expect(printed).not.toMatch(LINK);
  expect(printed).toContain(`Owner link     run "npm run owner-link -- --url ${ORIGIN}" at a terminal`);
  expect(
    await db
      .select()
      .from(links)
      .where(eq(links.hash, await sha256(token))),
  ).toHaveLength(1);
});

test('secrets travel in a file of this user alone, which is gone afterwards; they are said nowhere', async () => {
  const { env, data, uploads, run } = await open();
  const said = [await run(), await run()].join('\n');
  const owner = JSON.parse(readFileSync(join(data, 'owner.json'), 'utf8'));
  expect(owner.url).toBe(ORIGIN);
  expect(said).toContain(join(data, 'owner.json'));
  for (const { file, mode, secrets } of uploads) {
    expect(secrets).toEqual({ ...env, SECRET_KEY: expect.stringMatching(/^.{32,}$/) });
    expect([mode, existsSync(file)]).toEqual([0o600, false]);
    for (const secret of [env.DATABASE_AUTH_TOKEN, secrets.SECRET_KEY, owner.token])
      expect(said).not.toContain(secret);
  }
  expect(uploads[0]?.secrets).toEqual(uploads[1]?.secrets);
});

test('what is missing is said in one sentence', async () => {
  const { targets, run } = await open();
  await expect(run({ DATABASE_AUTH_TOKEN: '' })).rejects.toThrow(/^DATABASE_AUTH_TOKEN must be set/);
  await expect(run({ DATABASE_URL: 'http://127.0.0.1:1' })).rejects.toThrow(/check DATABASE_URL/);
  targets.length = 0;
  const nowhere = run();
  await expect(nowhere).rejects.toThrow(StartError);
  await expect(nowhere).rejects.toThrow('deployed without an address');
});
