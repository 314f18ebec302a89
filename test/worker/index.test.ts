import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../worker/db/client.ts';
import { oauthRecords } from '../../worker/db/tables/programs.ts';
import { startLocal } from '../../worker/local/serve.ts';
import { bootstrapAccount } from '../../worker/registry/bootstrap.ts';
import { ROOT, run } from './push/harness.ts';

/** The Worker as it is, but without a binding where a request says so. */
const ENTRY = `
import worker from '${ROOT}worker/index.ts';
export { Doorbell } from '${ROOT}worker/index.ts';

export default {
  fetch(request, env, ctx) {
    const without = new URL(request.url).searchParams.get('without');
    return worker.fetch(request, without ? { ...env, [without]: undefined } : env, ctx);
  },
};
`;

test('the Worker says what it lacks, and serves once it has it', async () => {
  const registry = await run({ entry: ENTRY });
  for (const [without, named] of [
    ['SECRET_KEY', 'SECRET_KEY'],
    ['LIBSQL', 'DATABASE_URL'],
  ]) {
    const response = await registry.call('GET', `/health?without=${without}`);
    const problem = (await response.json()) as { code: string; detail: string };
    expect([response.status, problem.code]).toEqual([503, 'unavailable']);
    expect(problem.detail).toContain(`wrangler secret put ${named}`);
  }
  expect((await registry.call('GET', '/health')).status).toBe(200);

  // One database client serves every request of the isolate: callers that hang up must not take others with them.
  const headers = { authorization: `Bearer ${registry.token}` };
  const calls = Array.from({ length: 60 }, async (_, i) => {
    const hangUp = new AbortController();
    const call = fetch(`${registry.url}/api/v1/items`, { headers, signal: hangUp.signal });
    if (i % 2 === 0) {
      setTimeout(() => hangUp.abort(), 5);
      return call.then(
        () => 'answered',
        () => 'left',
      );
    }
    return String((await call).status);
  });
  const results = await Promise.all(calls);
  expect(results.filter((_, i) => i % 2 === 1)).toEqual(Array(30).fill('200'));
  expect((await registry.call('GET', '/api/v1/items')).status).toBe(200);
});

const BY_CLOCK = `
import worker from '${ROOT}worker/index.ts';
export { Doorbell } from '${ROOT}worker/index.ts';

export default {
  async fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== '/by-the-clock') return worker.fetch(request, env, ctx);
    await worker.scheduled({ cron: '', scheduledTime: Date.now(), noRetry() {} }, env, ctx);
    return new Response();
  },
};
`;

test('by the clock the Worker forgets what OAuth clients left behind, and nothing else', {
  timeout: 300_000,
}, async () => {
  const data = await mkdtemp(join(tmpdir(), 'repertoire-clock-'));
  const entry = join(data, 'entry.ts');
  await writeFile(entry, BY_CLOCK);
  let db: Database | undefined;
  const local = await startLocal({
    port: 0,
    data,
    entry,
    bootstrap: async (...[client, keep]: Parameters<typeof bootstrapAccount>) => {
      db = openDatabase(client);
      await bootstrapAccount(client, keep);
    },
  });
  onTestFinished(async () => {
    await local.stop();
    await rm(data, { recursive: true, force: true });
  });
  const record = (key: string, registeredAgo: number, expiresAt: number | null = null) => ({
    key,
    value: JSON.stringify({ registrationDate: Math.floor((Date.now() - registeredAgo) / 1000) }),
    metadata: null,
    version: 1,
    expiresAt,
  });
  const day = 24 * 3_600_000;
  await db
    ?.insert(oauthRecords)
    .values([
      record('client:of-two-days-ago', 2 * day),
      record('client:of-an-hour-ago', day / 24),
      record('transaction:expired', 0, Date.now() - 1),
      record('transaction:waits', 0, Date.now() + day),
    ]);

  expect((await fetch(`${local.url}/by-the-clock`)).status).toBe(200);
  const kept = (await db?.select({ key: oauthRecords.key }).from(oauthRecords))?.map(({ key }) => key);
  expect(kept?.sort()).toEqual(['client:of-an-hour-ago', 'transaction:waits']);
  const { triggers } = parse(readFileSync(`${ROOT}wrangler.toml`, 'utf8')) as { triggers: object };
  expect(triggers).toEqual({ crons: [expect.stringMatching(/^\d+ \d+ \* \* \*$/)] });
});
