import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startGateway, type TestGateway } from './harness.ts';
import { type Asked, startScripted, tool } from './upstreams.ts';

let gateway: TestGateway;
let servers = 0;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

type Script = Parameters<typeof startScripted>;

async function upstream(script: Script[0], options: Script[1] = {}) {
  const running = await startScripted(script, options);
  onTestFinished(running.stop);
  return running;
}

async function add(url: string, rest: object = {}): Promise<string> {
  const name = `a${++servers}`;
  await gateway.addServer(name, url, rest);
  onTestFinished(async () => void (await gateway.api('DELETE', `/servers/${name}`)));
  return name;
}

async function apiToken(scopes = ['skills:read', 'skills:write']): Promise<string> {
  const { json } = await gateway.api('POST', '/tokens', { name: `t${++servers}`, scopes, days: null });
  return json.token;
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
/** Lists these tools, and answers a call with the name that it was called by. */
const echoes =
  (...tools: unknown[]) =>
  ({ method, params, result }: Asked) => {
    if (method === 'tools/list') return result({ tools });
    if (method === 'tools/call') return result(text(params.name));
  };

describe('names', () => {
  const ODD = [
    'weird.name',
    'weird name',
    'weird/name',
    'x'.repeat(100),
    `${'x'.repeat(99)}y`,
    'übertrag',
    'plain_name',
    'ends_in_deadbeef',
  ];

  test('that a client would not take are shown under others, each of its own, by which the right tool is called', async () => {
    const { url } = await upstream(echoes(...ODD.map((name) => tool(name))));
    const name = await add(url, { manifest: 'skills: true\n', in_main: true });
    const skill = '---\nname: how\ndescription: When.\nreferences_tools: [weird.name]\n---\n\nSo.\n';
    await gateway.api('PUT', `/servers/${name}/skills/how.md`, { text: skill });
    for (const [path, prefix] of [
      [`/mcp/${name}`, ''],
      ['/mcp', `${name}_`],
    ] as const) {
      const client = await gateway.connect(path);
      const tools = (await client.listTools()).tools.filter(({ description }) =>
        description?.startsWith('Does '),
      );
      expect(tools).toHaveLength(ODD.length);
      expect(new Set(tools.map((each) => each.name)).size).toBe(ODD.length);
      for (const [index, each] of tools.entries()) {
        expect(each.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        const called = await client.callTool({ name: each.name, arguments: {} });
        expect(called.content).toEqual(text(ODD[index] as string).content);
      }
      expect(tools.map((each) => each.name)).toContain(`${prefix}plain_name`);
      expect(tools[0]?.description).toContain('<!-- mcp-skill:how -->');
    }
    const { json } = await gateway.api('GET', `/servers/${name}/preview?client=codex`);
    for (const each of json.clients[0].tools) expect(each.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  test('that look like the one an odd name is shown under take nothing away from it', async () => {
    const first = await upstream(echoes(tool('weird.name')));
    const shown =
      (await (await gateway.connect(`/mcp/${await add(first.url)}`)).listTools()).tools[0]?.name ?? '';
    const second = await upstream(echoes(tool(shown), tool('weird.name')));
    const client = await gateway.connect(`/mcp/${await add(second.url)}`);
    const names = (await client.listTools()).tools.map((each) => each.name);
    expect(new Set(names).size).toBe(3);
    expect(names[1]).toBe(shown);
    expect((await client.callTool({ name: shown, arguments: {} })).content).toEqual(
      text('weird.name').content,
    );
    expect((await client.callTool({ name: names[0] as string, arguments: {} })).content).toEqual(
      text(shown).content,
    );
  });

  test('that give way to the loader do not meet another', async () => {
    const name = `a${servers + 1}`;
    const { url } = await upstream(echoes(tool(`${name}_skills`), tool('skills'), tool(`${name}_skills_`)));
    expect(await add(url)).toBe(name);
    const client = await gateway.connect(`/mcp/${name}`);
    const names = (await client.listTools()).tools.map((each) => each.name);
    expect(new Set(names).size).toBe(4);
    const called = await Promise.all(
      names.slice(0, 3).map(async (each) => (await client.callTool({ name: each, arguments: {} })).content),
    );
    expect(called.flat()).toEqual(
      [`${name}_skills`, 'skills', `${name}_skills_`].flatMap((each) => text(each).content),
    );
  });

  test('that the manifest hides or changes cannot be called before they were ever listed either', async () => {
    const { url, asked } = await upstream(echoes(tool('safe')));
    const manifest = 'tools:\n  - {bundled: danger, hidden: true}\n  - {bundled: old, rename: young}\n';
    const client = await gateway.connect(`/mcp/${await add(url, { manifest })}`);
    await client.listTools();
    for (const name of ['danger', 'old'])
      await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32602 });
    expect(asked).not.toContain('tools/call');
    expect((await client.callTool({ name: 'new', arguments: {} })).content).toEqual(text('new').content);
  });
});

test('a session of a server is nobody else’s: each caller has one of its own, and keeps it', async () => {
  let sessions = 0;
  const { url } = await upstream(
    ({ method, headers, result }) => {
      if (method === 'tools/list') return result({ tools: [tool('whoami')] });
      if (method === 'tools/call') return result(text(String(headers['mcp-session-id'])));
    },
    { session: () => `s${++sessions}` },
  );
  const name = await add(url);
  const tokens = [await apiToken(), await apiToken()];
  const seen: unknown[] = [];
  for (const token of [...tokens, ...tokens]) {
    const client = await gateway.connect(`/mcp/${name}`, { token });
    const { content } = await client.callTool({ name: 'whoami', arguments: {} });
    seen.push((content as { text: string }[])[0]?.text);
  }
  expect(new Set(seen).size).toBe(2);
  expect(seen.slice(0, 2)).toEqual(seen.slice(2));
});

describe('the main list', () => {
  test('waits for no other server when a tool is called, and says which list is stale', async () => {
    const silent = await Promise.all([1, 2, 3].map(() => upstream(() => new Promise(() => {}))));
    for (const each of silent) await add(each.url, { in_main: true });
    const living = await upstream(echoes(tool('t')));
    const name = await add(living.url, { in_main: true });
    const direct = await gateway.connect(`/mcp/${name}`);
    await direct.listTools();
    await expect.poll(async () => (await gateway.api('GET', `/servers/${name}`)).json.listed?.tools).toBe(1);
    const client = await gateway.connect('/mcp');
    expect((await client.callTool({ name: `${name}_t`, arguments: {} })).content).toEqual(text('t').content);
    for (const { asked } of silent) expect(asked).toEqual([]);

    await living.stop();
    const listed = await client.listTools();
    expect(listed.tools.map((each) => each.name)).toEqual(['skills', 'skill_edit', `${name}_t`]);
    expect(listed._meta).toMatchObject({
      'repertoire/staleServers': { [name]: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
    });
  });
});

describe('a server that is this registry itself', () => {
  const credential = () => ({ type: 'bearer', token: gateway.local.ownerToken });

  test('is not served to itself', async () => {
    const name = `a${servers + 1}`;
    expect(await add(`${gateway.local.url}/mcp/${name}`, { credential: credential() })).toBe(name);
    const client = await gateway.connect(`/mcp/${name}`);
    await expect(client.listTools()).rejects.toThrow(`The server ${name} answered with HTTP 400`);
  });

  test('brings its own two tools and no other server’s', async () => {
    const { url } = await upstream(echoes(tool('t')));
    const other = await add(url, { in_main: true });
    const name = await add(`${gateway.local.url}/mcp`, { credential: credential(), in_main: true });
    const client = await gateway.connect('/mcp');
    const names = (await client.listTools()).tools.map((each) => each.name);
    expect(names).toEqual([
      'skills',
      'skill_edit',
      `${other}_t`,
      `${name}_${name}_skills`,
      `${name}_skill_edit`,
    ]);
  });
});

test('a handshake of megabytes is refused with a sentence', async () => {
  const { url } = await upstream(echoes(tool('t')), { says: { instructions: 'x'.repeat(1024 * 1024) } });
  const name = await add(url);
  const client = await gateway.connect(`/mcp/${name}`);
  expect((client.getInstructions() ?? '').length).toBeLessThan(10_000);
  await expect(client.listTools()).rejects.toThrow(`The server ${name} says more than 256 KiB of itself`);
});

test.each([
  ['prompts/list', {}],
  ['prompts/get', { name: 'p' }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'demo://r' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
  ['example/own', {}],
])('an endless answer to %s is cut, and a huge one too', async (flooded, params) => {
  let form: 'stream' | 'json' = 'stream';
  const { url } = await upstream(
    ({ method, event, result }) => {
      if (method === 'tools/list') return result({ tools: [tool('t')] });
      if (method !== flooded) return method.startsWith('notifications/') ? undefined : result({});
      if (form === 'json') return result({ padding: 'x'.repeat(17 * 1024 * 1024) });
      const chunk = { method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(2 ** 20) } };
      for (let i = 0; i < 20; i++) event(chunk);
    },
    { says: { capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} } } },
  );
  const name = await add(url);
  for (form of ['stream', 'json'] as const) {
    const answer = await fetch(`${gateway.local.url}/mcp/${name}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.local.ownerToken}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-06-18',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: flooded, params }),
    });
    const last = (await answer.text()).trim().split('\n').at(-1) ?? '';
    // The account's own prompts are listed whatever the server does.
    expect(last).toMatch(
      flooded === 'prompts/list'
        ? /"result":\{"prompts":\[\]/
        : /"error":\{"code":-32603,"message":"(The server \w+|127\.0\.0\.1)[^"]+16 MiB/,
    );
  }
});
