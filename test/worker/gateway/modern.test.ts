import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { modernServer } from '../../agent/serve/modern-server.ts';
import { startGateway, type TestGateway } from './harness.ts';
import { serve, startScripted, tool } from './upstreams.ts';

let gateway: TestGateway;
let servers = 0;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

async function add(url: string, rest: object = {}): Promise<string> {
  const name = `m${++servers}`;
  await gateway.addServer(name, url, { manifest: 'skills: true\n', ...rest });
  return name;
}

test.each(['auto', 'legacy'] as const)(
  'a server of revision 2026-07-28 alone serves a client that negotiates %s: lists, calls, what is repeated in headers',
  async (mode) => {
    const { url } = await modernServer();
    const name = await add(url);
    const text = '---\nname: deploy\ndescription: When to deploy.\n---\n\nSo.\n';
    await gateway.api('PUT', `/servers/${name}/skills/deploy.md`, { text });
    const client = await gateway.connect(`/mcp/${name}`, { mode });
    expect(client.getInstructions()).toContain('The server itself.');
    const { tools } = await client.listTools();
    expect(tools.map((each) => each.name)).toEqual(['deploy', 'sum', 'mirrored', 'skills']);
    expect(tools[0]?.description).toMatch(/^Deploys\.\n\n<!-- mcp-skill:deploy -->/);
    expect(await client.callTool({ name: 'sum', arguments: { a: 3 } })).toMatchObject({
      content: [{ type: 'text', text: '3' }],
      structuredContent: { a: 3 },
      _meta: { 'example.com/x': 1 },
    });
    for (const region of ['eu-1', ' Ünder ', '=?base64?eA==?=', '']) {
      const args = { region, inner: { count: 7 } };
      const { content } = await client.callTool({ name: 'mirrored', arguments: args });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(args) }]);
    }
  },
);

test('what such a server has to ask comes back to a client of its revision, and the answer and the log level go there', async () => {
  const { url, levels } = await modernServer();
  const name = await add(url);
  const asked: unknown[] = [];
  const client = await gateway.connect(`/mcp/${name}`, {
    capabilities: { elicitation: { form: {} } },
    prepare: (each) =>
      each.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { place: 'Oslo' } };
      }),
  });
  const deployed = await client.callTool({
    name: 'deploy',
    arguments: {},
    _meta: { [LOG_LEVEL_META_KEY]: 'warning' },
  });
  expect(deployed.content).toEqual([{ type: 'text', text: 'to Oslo' }]);
  expect(asked).toEqual(['Where?']);
  expect(levels).toEqual(['warning', 'warning']);
  const mute = await gateway.connect(`/mcp/${name}`);
  await expect(mute.callTool({ name: 'deploy', arguments: {} })).rejects.toMatchObject({ code: -32021 });
});

test('what is not served is not declared: no notices of lists and resources', async () => {
  const { url } = await modernServer();
  const name = await add(url);
  for (const mode of ['auto', 'legacy'] as const) {
    const client = await gateway.connect(`/mcp/${name}`, { mode });
    expect(client.getServerCapabilities()).toEqual({
      logging: {},
      tools: { listChanged: false },
      prompts: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
    });
  }
});

test('a server that speaks another revision from one call to the next is asked anew', async () => {
  const { url } = await modernServer();
  const old = await startScripted(({ method, result }) => {
    if (method === 'tools/list') result({ tools: [tool('old')] });
  });
  onTestFinished(old.stop);
  let at = old.url;
  const front = await serve(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const headers = Object.entries(request.headers).filter(([key]) =>
      /^(mcp-|accept$|content-type)/.test(key),
    );
    const answer = await fetch(at, {
      method: 'POST',
      headers: headers as [string, string][],
      body,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(await answer.text());
  });
  onTestFinished(front.stop);
  const client = await gateway.connect(`/mcp/${await add(front.url)}`);
  const names = async () =>
    (await client.listTools(undefined, { cacheMode: 'bypass' })).tools.map((each) => each.name);
  expect(await names()).toEqual(['old', 'skills']);
  at = url;
  expect(await names()).toEqual(['deploy', 'sum', 'mirrored', 'skills']);
  at = old.url;
  expect(await names()).toEqual(['old', 'skills']);
});
