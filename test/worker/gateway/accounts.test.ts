import { eq } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { servers as serverTable } from '../../../worker/db/tables/servers.ts';
import { openTestApi, type TestApi } from '../api/harness.ts';
import { headersOf } from '../mcp/harness.ts';
import { ask } from './ask.ts';
import { startScripted, tool } from './upstreams.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi({ outbound: (url, init) => fetch(url, init) });
  token = await api.token();
});

async function upstream(name: string) {
  const heard: unknown[] = [];
  const running = await startScripted(({ method, headers, result }) => {
    heard.push(headers.authorization);
    if (method === 'tools/list') result({ tools: [tool(name)] });
    else if (!method.startsWith('notifications/')) result({ content: [] });
  });
  onTestFinished(running.stop);
  return { url: running.url, heard };
}

const add = (body: object, bearer = token) =>
  api.call('/api/v1/servers', { method: 'POST', token: bearer, body });

async function rpc(path: string, method: string, bearer = token, params: object = {}) {
  return (await ask(api, path, { method, params, token: bearer })).result();
}

async function names(path: string, bearer = token): Promise<string[]> {
  const result = await rpc(path, 'tools/list', bearer);
  return result.tools.map(({ name }: { name: string }) => name);
}

test('two accounts with a server of one name reach each their own, with their own credential', async () => {
  const stranger = await api.token(Scope.options, await api.addAccount());
  const [mine, theirs] = [await upstream('mine'), await upstream('theirs')];
  await add({
    name: 'docs',
    upstream: mine.url,
    in_main: true,
    credential: { type: 'bearer', token: 'of-mine' },
  });
  await add(
    { name: 'docs', upstream: theirs.url, in_main: true, credential: { type: 'bearer', token: 'of-theirs' } },
    stranger,
  );
  for (let i = 0; i < 2; i++) {
    expect(await names('/mcp/docs')).toEqual(['mine', 'skills']);
    expect(await names('/mcp/docs', stranger)).toEqual(['theirs', 'skills']);
    expect((await names('/mcp')).at(-1)).toBe('docs_mine');
    expect((await names('/mcp', stranger)).at(-1)).toBe('docs_theirs');
  }
  expect(new Set(mine.heard)).toEqual(new Set(['Bearer of-mine']));
  expect(new Set(theirs.heard)).toEqual(new Set(['Bearer of-theirs']));
});

test('a server that cannot be opened any more leaves the main list to the others', async () => {
  const living = await upstream('t');
  await add({ name: 'good', upstream: living.url, in_main: true });
  for (const name of ['bad-key', 'bad-manifest'])
    await add({ name, upstream: living.url, in_main: true, credential: { type: 'bearer', token: 'x' } });
  const change = (name: string, set: object) =>
    api.db.update(serverTable).set(set).where(eq(serverTable.name, name));
  await change('bad-key', { credential: 'sealed under another key' });
  await change('bad-manifest', { manifest: 'a_key_of_later: true\n' });
  expect(await names('/mcp')).toEqual(['skills', 'skill_edit', 'good_t']);
});

test('a server whose credential cannot be read any more says so, and its last list stands in', async () => {
  const living = await upstream('t');
  await add({ name: 'docs', upstream: living.url, credential: { type: 'bearer', token: 'x' } });
  expect(await names('/mcp/docs')).toEqual(['t', 'skills']);
  await api.db.update(serverTable).set({ credential: 'sealed under another key' });
  expect(await names('/mcp/docs')).toEqual(['t', 'skills']);
  const { text } = await api.call('/mcp/docs', {
    method: 'POST',
    token,
    headers: headersOf('tools/call', { name: 't' }, '2025-06-18'),
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: {} } },
  });
  expect(text).toContain('SECRET_KEY has changed; set the credential again');
});

test('when a server listed its tools last is known to the minute', async () => {
  const living = await upstream('t');
  await add({ name: 'docs', upstream: living.url });
  const listed = async () => (await api.call('/api/v1/servers/docs', { token })).json.listed.at;
  await names('/mcp/docs');
  const first = await listed();
  api.clock.now += 59_000;
  await names('/mcp/docs');
  expect(await listed()).toBe(first);
  api.clock.now += 1000;
  await names('/mcp/docs');
  expect(await listed()).toBe(api.clock.now);
});

test('of the items of an account, those ride and are prompts that reference tools or have the name of one', async () => {
  const living = await upstream('find_it');
  await add({ name: 'docs', upstream: living.url, manifest: 'skills: []\nname: my docs\n' });
  for (const [name, more] of [
    ['find-it', ''],
    ['empty', 'references_tools: []\n'],
    ['nothing', 'references_tools:\n'],
    ['unrelated', ''],
    ['broken', 'when: now: or never\n'],
    ['elsewhere', 'references_tools: [other]\n'],
  ]) {
    const text = `---\nname: ${name}\ndescription: When.\n${more}---\n\nSo.\n`;
    const body = { kind: 'skill', name, files: { 'SKILL.md': { text } } };
    expect((await api.call('/api/v1/items', { method: 'POST', token, body })).status).toBe(201);
  }
  await names('/mcp/docs');
  const { prompts } = await rpc('/mcp/docs', 'prompts/list');
  expect(prompts.map(({ name }: { name: string }) => name)).toEqual(['elsewhere', 'find-it']);
  const { json } = await api.call('/api/v1/servers/docs/preview?client=codex', { token });
  expect(
    json.clients[0].notes.map(({ skill, path }: { skill: string; path: string }) => skill ?? path),
  ).toEqual(['elsewhere']);
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'someone', version: '1' },
  };
  expect((await rpc('/mcp/docs', 'initialize', token, hello)).serverInfo.name).toBe('my docs');
});
