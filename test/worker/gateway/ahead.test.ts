import { eq } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { tokens } from '../../../worker/db/tables/programs.ts';
import { LIST_DEADLINE_MS } from '../../../worker/gateway/session.ts';
import { openTestApi, type TestApi } from '../api/harness.ts';
import { ask, change } from './ask.ts';
import { startScripted, tool } from './upstreams.ts';

/** A list is asked for while the database looks the caller up, where it let the caller in less than a second ago. */
let api: TestApi;
let owner: string;

beforeEach(async () => {
  api = await openTestApi({ outbound: (url, init) => fetch(url, init) });
  owner = await api.token();
});

async function upstream(name: string) {
  const heard: string[] = [];
  const running = await startScripted(({ method, result }) => {
    heard.push(method);
    if (method === 'tools/list') result({ tools: [tool(name)] });
    else if (!method.startsWith('notifications/')) result({});
  });
  onTestFinished(running.stop);
  return { url: running.url, lists: () => heard.filter((method) => method === 'tools/list').length };
}

const send = (method: string, path: string, body?: unknown) =>
  change(api, path, { method, body, token: owner });

const list = (token: string) => ask(api, '/mcp/docs', { method: 'tools/list', token });

/** Holds the database's next answer back until it is let go. */
function holdDatabase(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  api.database.send = async (sent) => {
    await promise;
    return sent();
  };
  return resolve;
}

test('the server is asked before the database has answered, and the caller is told nothing until then', async () => {
  const { url, lists } = await upstream('one');
  await send('POST', '/servers', { name: 'docs', upstream: url });
  await list(owner);
  const letGo = holdDatabase();
  let told = false;
  const asked = list(owner).finally(() => {
    told = true;
  });
  await expect.poll(lists).toBe(2);
  expect(told).toBe(false);
  letGo();
  expect((await asked).text).toContain('"one"');
  expect(lists()).toBe(2);
});

test('a caller of long ago is looked up first', async () => {
  const { url, lists } = await upstream('one');
  await send('POST', '/servers', { name: 'docs', upstream: url });
  await list(owner);
  api.clock.now += 1000;
  const letGo = holdDatabase();
  const asked = list(owner);
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(lists()).toBe(1);
  letGo();
  expect((await asked).text).toContain('"one"');
});

test('a caller that was revoked in the meantime gets 401 and nothing of the list', async () => {
  const { url, lists } = await upstream('one');
  await send('POST', '/servers', { name: 'docs', upstream: url });
  const token = await api.token(['skills:read', 'skills:write']);
  expect((await list(token)).status).toBe(200);
  await api.db
    .update(tokens)
    .set({ revokedAt: api.clock.now })
    .where(eq(tokens.hash, await sha256(token)));
  const { status, text } = await list(token);
  expect(status).toBe(401);
  expect(text).not.toContain('"one"');
  api.clock.now += 1000;
  const before = lists();
  expect((await list(token)).status).toBe(401);
  expect(lists()).toBe(before);
});

test('a server that was changed in the meantime is asked itself', async () => {
  const [one, two] = [await upstream('one'), await upstream('two')];
  await send('POST', '/servers', { name: 'docs', upstream: one.url });
  await list(owner);
  await send('PATCH', '/servers/docs', { upstream: two.url });
  expect((await list(owner)).text).toContain('"two"');
  await send('DELETE', '/servers/docs');
  expect((await list(owner)).status).toBe(404);
});

test('a server that is not the one any more is not waited for', async () => {
  const asked = Promise.withResolvers<void>();
  let lists = 0;
  let ended = false;
  const slow = await startScripted(({ method, result, response }) => {
    if (method === 'tools/list' && ++lists > 1) {
      response.once('close', () => {
        ended = true;
      });
      asked.resolve();
    } else if (method === 'tools/list') result({ tools: [tool('one')] });
    else if (!method.startsWith('notifications/')) result({});
  });
  onTestFinished(slow.stop);
  const two = await upstream('two');
  await send('POST', '/servers', { name: 'docs', upstream: slow.url });
  await list(owner);
  await send('PATCH', '/servers/docs', { upstream: two.url });
  api.database.send = async (sent) => {
    await asked.promise;
    return sent();
  };
  expect((await list(owner)).text).toContain('"two"');
  await expect.poll(() => ended, { timeout: LIST_DEADLINE_MS / 2 }).toBe(true);
});
