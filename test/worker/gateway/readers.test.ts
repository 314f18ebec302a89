import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openTestOAuth, RESOURCE, type TestOAuth, tokensOf } from '../auth/oauth-harness.ts';
import { headersOf } from '../mcp/harness.ts';
import { startScripted, tool } from './upstreams.ts';

const READ = { ...tool('read_it'), annotations: { readOnlyHint: true } };
const LISTED = [READ, tool('write_it'), { ...tool('odd'), annotations: { readOnlyHint: false } }];

let oauth: TestOAuth;
let called: string[];

beforeEach(async () => {
  called = [];
  oauth = await openTestOAuth({ outbound: (url, init) => fetch(url, init) });
  const upstream = await startScripted(({ method, params, result }) => {
    if (method === 'tools/list') return result({ tools: LISTED });
    if (method.startsWith('notifications/')) return;
    called.push(params?.name ?? method);
    result({ content: [{ type: 'text', text: 'done' }] });
  });
  onTestFinished(upstream.stop);
  for (const in_main of [false, true]) {
    const body = { name: in_main ? 'notes-main' : 'notes', upstream: upstream.url, in_main };
    const token = await oauth.token();
    expect((await oauth.call('/api/v1/servers', { method: 'POST', token, body })).status).toBe(201);
  }
});

const rpc = async (token: string, path: string, method: string, params: object = {}) => {
  const answer = await oauth.call(path, {
    method: 'POST',
    token,
    headers: headersOf(method, params, '2025-06-18'),
    body: { jsonrpc: '2.0', id: 1, method, params },
  });
  await oauth.settle();
  return answer;
};
const names = async (token: string, path: string) => {
  const { text } = await rpc(token, path, 'tools/list');
  const { result } = JSON.parse(text.slice(text.indexOf('{')));
  return result.tools.map(({ name }: { name: string }) => name);
};
const call = (token: string, path: string, name: string) =>
  rpc(token, path, 'tools/call', { name, arguments: {} });

/** An access token for one address; `answer` is the person's. */
async function grant(resource: string, scope: string, answer?: 'allow-read') {
  const client = await oauth.register();
  const approved = await oauth.approve(client, { resource, scope }, answer);
  return tokensOf(await oauth.redeem(client, approved, { resource })).access;
}

describe.each([
  ['/mcp/notes', '', ['skills']],
  ['/mcp', 'notes-main_', ['skills']],
] as const)('at %s', (path, prefix, ours) => {
  const resource = RESOURCE.replace('/mcp', path);

  test('who is limited to reading sees and calls only tools that their server declares to be read-only', async () => {
    const limited = await grant(resource, 'skills:read skills:write', 'allow-read');
    const reader = await oauth.token(['skills:read']);
    for (const token of [limited, reader]) {
      expect((await names(token, path)).sort()).toEqual([`${prefix}read_it`, ...ours].sort());
      expect((await call(token, path, `${prefix}read_it`)).text).toContain('done');
      for (const name of ['write_it', 'odd', 'not_listed']) {
        const refused = await call(token, path, prefix + name);
        expect(refused.text).toContain(`There is no tool named ${path === '/mcp' ? prefix : ''}${name}`);
      }
    }
    expect(called).toEqual(['read_it', 'read_it']);
  });

  test('a client that asked for reading alone sees all, and is told what to ask for', async () => {
    const token = await grant(resource, 'skills:read');
    expect(await names(token, path)).toContain(`${prefix}write_it`);
    expect((await call(token, path, `${prefix}read_it`)).text).toContain('done');
    const refused = await call(token, path, `${prefix}write_it`);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="skills:read skills:write"');
    expect(called).toEqual(['read_it']);
    const writing = await grant(resource, 'skills:read skills:write');
    expect((await call(writing, path, `${prefix}write_it`)).text).toContain('done');
  });
});

test('a method that is not known to only read needs skills:write as well, the known ones do not', async () => {
  const reader = await oauth.token(['skills:read']);
  for (const method of ['tasks/cancel', 'example/delete'])
    expect((await rpc(reader, '/mcp/notes', method)).status).toBe(403);
  expect(called).toEqual([]);
  for (const method of ['resources/list', 'prompts/list', 'ping'])
    expect((await rpc(reader, '/mcp/notes', method)).status).toBe(200);
  expect((await rpc(await oauth.token(), '/mcp/notes', 'example/delete')).status).toBe(200);
});

test('a batch is refused for the one call in it that writes', async () => {
  const token = await grant(`${RESOURCE}/notes`, 'skills:read');
  const body = ['read_it', 'write_it'].map((name, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  }));
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-03-26' };
  const answer = await oauth.call('/mcp/notes', { method: 'POST', token, headers, body });
  expect(answer.status).toBe(403);
  expect(called).toEqual([]);
});
