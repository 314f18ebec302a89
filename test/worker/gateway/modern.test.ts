import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { modernServer } from '../../riding/modern-server.ts';
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
