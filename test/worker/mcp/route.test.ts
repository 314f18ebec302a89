import { beforeEach, describe, expect, test } from 'vitest';
import { headersOf, LEGACY, MODERN, openTestMcp, type TestMcp } from './harness.ts';

let mcp: TestMcp;
let token: string;

beforeEach(async () => {
  mcp = await openTestMcp();
  token = await mcp.token();
});

const post = (body: unknown, headers: Record<string, string> = {}, who: object = { token }) =>
  mcp.call('/mcp', {
    method: 'POST',
    body,
    headers: { ...headersOf('', {}, '2025-06-18'), ...headers },
    ...who,
  });

describe('401 with a challenge, whatever is asked', () => {
  const METHODS: [string, Record<string, unknown>][] = [
    ['server/discover', {}],
    ['tools/list', {}],
    ['tools/call', { name: 'skills', arguments: { action: 'list' } }],
    [
      'tools/call',
      { name: 'skill_edit', arguments: { action: 'create', name: 'a', description: 'd', instructions: 'i' } },
    ],
    ['tools/call', { name: 'skills', arguments: { action: 'nonsense' } }],
    ['prompts/list', {}],
    ['skills/list', {}],
    ['skills/get', { uri: 'skill://a/SKILL.md' }],
    ['resources/list', {}],
    ['resources/read', { uri: 'skill://a/SKILL.md' }],
    ['resources/directory/read', { uri: 'skill://a' }],
    ['subscriptions/listen', { notifications: {} }],
    ['no/such/method', {}],
  ];

  test.each(METHODS)('%s %j', async (method, params) => {
    const stale = `sk_${'x'.repeat(43)}`;
    for (const who of [{}, { token: stale }, { token: `${token}x` }, { token: 'of-someone-else' }]) {
      for (const revision of ['2025-11-25', MODERN]) {
        if (method === 'server/discover' && revision !== MODERN) continue;
        const { status, headers, problem } = await mcp.rpc(method, params, { ...who, revision });
        expect(status).toBe(401);
        expect(problem.code).toBe('unauthorized');
        expect(headers.get('www-authenticate')).toMatch(
          /^Bearer .*resource_metadata="http:\/\/localhost:8787\/\.well-known\/oauth-protected-resource\/mcp", scope="skills:read skills:write"/,
        );
      }
    }
  });

  test.each(LEGACY)(
    'initialize of %s, its notification, ping, a batch, garbage and GET',
    async (revision) => {
      const who = { token: `sk_${'x'.repeat(43)}` };
      const initialize = {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'a', version: '1' },
      };
      expect((await mcp.rpc('initialize', initialize, { ...who, revision })).status).toBe(401);
      const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
      for (const body of [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        message,
        [message, message],
        '{',
        '',
      ])
        expect((await post(body, {}, who)).status).toBe(401);
      for (const method of ['GET', 'DELETE'])
        expect((await mcp.call('/mcp', { method, ...who })).status).toBe(401);
    },
  );

  test('a browser, too: no address of MCP answers with a page', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const [path, status] of [
        ['/mcp', 401],
        ['/mcp/notes', 401],
        ['/mcp/', 404],
        ['/mcp/a/b', 404],
      ] as const) {
        const answer = await mcp.call(path, { method, headers });
        expect([method, path, answer.status]).toEqual([method, path, status]);
        expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(answer.headers.has('www-authenticate')).toBe(status === 401);
      }
    }
    expect((await mcp.call('/mcp/', { headers })).problem.detail).toContain('MCP at /mcp');
    const page = await mcp.call('/nowhere', { headers });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      404,
      expect.stringMatching(/^text\/html/),
    ]);
  });

  test('a token in the query is none', async () => {
    expect((await mcp.call(`/mcp?access_token=${token}`, { method: 'POST', body: '{}' })).status).toBe(401);
  });

  test('a device proof is good for one request', async () => {
    const device = await mcp.pair();
    const call = { device, proof: { jti: 'once' } };
    expect((await mcp.rpc('tools/list', {}, call)).status).toBe(200);
    expect((await mcp.rpc('tools/list', {}, call)).status).toBe(401);
    expect(
      (await mcp.rpc('tools/call', { name: 'skills', arguments: { action: 'list' } }, call)).status,
    ).toBe(401);
  });

  test('a revoked token is refused with its next request', async () => {
    const { result } = await mcp.rpc('tools/list', {}, { token });
    expect(result.tools).toHaveLength(2);
    mcp.clock.now += 1000;
    await mcp.db.run('update tokens set revoked_at = 1');
    expect((await mcp.rpc('tools/list', {}, { token })).status).toBe(401);
  });
});

describe('every revision on one address', () => {
  test.each(LEGACY)('%s is echoed, without fields of later ones', async (revision) => {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const { status, result } = await mcp.rpc('initialize', params, { token, revision });
    expect(status).toBe(200);
    expect(result).toMatchObject({
      protocolVersion: revision,
      serverInfo: { name: 'repertoire' },
      capabilities: { tools: { listChanged: false }, prompts: {}, resources: {} },
    });
    const list = await mcp.rpc('tools/list', {}, { token, revision });
    expect(Object.keys(list.result)).toEqual(['tools']);
    expect((await mcp.rpc('ping', {}, { token, revision })).result).toEqual({});
    expect((await mcp.rpc('skills/list', {}, { token, revision })).result).toEqual({ skills: [] });
  });

  test.each(['1999-01-01', '2024-11-05', MODERN])(
    'initialize asking %s is offered 2025-11-25',
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
      const { result } = await mcp.rpc('initialize', params, { token, revision: '2025-11-25' });
      expect(result.protocolVersion).toBe('2025-11-25');
    },
  );

  test('server/discover tells what is served', async () => {
    const { result } = await mcp.rpc('server/discover', {}, { token });
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: [MODERN],
      ttlMs: 0,
      cacheScope: 'private',
      capabilities: {
        tools: { listChanged: false },
        extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
      },
    });
  });

  test('a notification is accepted, and a batch of 2025-03-26 answered in one', async () => {
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'skills', arguments: { action: 'list' } },
    });
    const device = await mcp.pair();
    for (const who of [{ token }, { device }]) {
      const { status, text } = await post(
        [call(1), call(2), { jsonrpc: '2.0', id: 3, method: 'ping' }],
        { 'mcp-protocol-version': '2025-03-26' },
        who,
      );
      expect(status).toBe(200);
      const answers: { id: number; error?: object }[] = JSON.parse(text);
      expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
      expect(answers.every((answer) => answer.error === undefined)).toBe(true);
    }
  });

  test('a batch that cancels its own requests is answered all the same', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const headers = { 'mcp-protocol-version': '2025-03-26' };
    for (const batch of [
      [request, cancel],
      [cancel, request],
    ]) {
      const { status, text } = await post(batch, headers);
      expect(status).toBe(200);
      expect(text).toContain('"id":1');
    }
    expect((await post([cancel], headers)).status).toBe(202);
  });

  test('what the modern revision left out is 404, and a subscription ends at once', async () => {
    for (const method of ['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'no/such']) {
      const { status, json } = await mcp.rpc(method, {}, { token });
      expect([status, json.error.code]).toEqual([404, -32601]);
    }
    const { text } = await mcp.rpc(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { token },
    );
    const [first, last] = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string));
    expect(first).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: {} },
    });
    expect(last.result.resultType).toBe('complete');
  });

  test('headers that say something else than the body are refused before anything is done', async () => {
    const create = {
      name: 'skill_edit',
      arguments: { action: 'create', name: 'a', description: 'd', instructions: 'i' },
    };
    for (const headers of [
      { 'mcp-name': 'skills' },
      { 'mcp-method': 'tools/list' },
      { 'mcp-protocol-version': '2025-11-25' },
    ] as Record<string, string>[]) {
      const { status, json } = await mcp.rpc('tools/call', create, { token, headers });
      expect([status, json.error.code]).toEqual([400, -32020]);
    }
    expect((await mcp.tool('skills', { action: 'list' }, { token })).json.items).toEqual([]);
  });

  test('prompts are an empty list', async () => {
    for (const revision of [...LEGACY, MODERN])
      expect((await mcp.rpc('prompts/list', {}, { token, revision })).result.prompts).toEqual([]);
  });
});

describe('bodies that are none', () => {
  test.each([
    ['{'],
    [''],
    ['null'],
    ['[]'],
    ['7'],
    ['"x"'],
    ['{"jsonrpc":"2.0"}'],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}'],
  ])('%j is 400', async (body) => {
    const { status, json } = await post(body);
    expect(status).toBe(400);
    expect(json.error.code).toBeLessThan(0);
  });

  test('bytes that are not UTF-8 are refused, not replaced', async () => {
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'skill_edit',
        arguments: { action: 'create', name: 'a', description: 'd', instructions: '@' },
      },
    });
    const bytes = new TextEncoder().encode(text);
    bytes[text.indexOf('@')] = 0xff;
    const { status, json } = await post(bytes);
    expect([status, json.error.code]).toEqual([400, -32700]);
  });

  test('over 3 MiB is 413, with and without a length', async () => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { x: 'x'.repeat(3 * 1024 * 1024) },
    });
    expect((await post(body)).status).toBe(413);
    expect((await post(body, { 'content-length': String(body.length) })).status).toBe(413);
  });

  test('another media type is 415, and GET and DELETE are 405', async () => {
    expect((await post('{}', { 'content-type': 'text/plain' })).status).toBe(415);
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await mcp.call('/mcp', {
        method,
        token,
        headers: { accept: 'text/event-stream' },
      });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test('only /mcp answers', async () => {
    for (const path of ['/mcp/', '/mcp/x', '/mcp.json'])
      expect((await mcp.call(path, { method: 'POST', token, body: '{}' })).status).toBe(404);
  });
});

test('pages elsewhere are refused, pages of this origin and of local tools are not', async () => {
  const ask = async (origin: string) =>
    (await mcp.rpc('tools/list', {}, { token, headers: { origin } })).status;
  expect(await ask('https://evil.example')).toBe(403);
  expect(await ask('null')).toBe(403);
  expect(await ask('http://localhost:6274')).toBe(200);
});

test('an error that nobody foresaw reaches no client', async () => {
  await mcp.db.run('drop table files');
  for (const [method, params] of [
    ['tools/call', { name: 'skills', arguments: { action: 'get', name: 'a' } }],
    ['skills/list', {}],
  ] as const) {
    const { text } = await mcp.rpc(method, params, { token });
    expect(text).toContain('Something went wrong in the registry');
    expect(text).not.toMatch(/no such table|select|files\b/);
  }
});
