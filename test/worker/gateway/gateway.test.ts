import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answer, EVERYTHING } from '../../agent/serve/surface.ts';
import { startGateway, type TestGateway } from './harness.ts';
import { type RunningUpstream, startEverything, startMemory, startScripted, tool } from './upstreams.ts';

let gateway: TestGateway;
let everything: RunningUpstream;

beforeAll(async () => {
  [gateway, everything] = await Promise.all([startGateway(), startEverything()]);
  await gateway.addServer('plain', everything.url);
  await gateway.addServer('everything', everything.url, { manifest: 'skills: true\n' });
  await gateway.addSkill(
    'echo',
    '---\nname: echo\ndescription: "TRIGGER on echoes."\n---\n\nSay it twice.\n',
  );
});

afterAll(async () => {
  await gateway?.stop();
  await everything?.stop();
});

async function direct(): Promise<Client> {
  const client = new Client({ name: 'someone', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(everything.url)));
  return client;
}

describe('server-everything', () => {
  test.each(['auto', 'legacy'] as const)(
    'a client that negotiates %s sees the skills of the account on the tools, and the loader beside them',
    async (mode) => {
      const client = await gateway.connect('/mcp/everything', { mode });
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === 'echo')?.description).toBe(
        'Echoes back the input string\n\n<!-- mcp-skill:echo -->\n\n## When to use\n\nTRIGGER on echoes.\n\n## Methodology\n\nSay it twice.',
      );
      expect(tools.at(-1)?.name).toBe('skills');
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('echo');
    },
  );

  test('answers every request as if nothing stood between, while skills are off', async () => {
    const client = await gateway.connect('/mcp/plain', { mode: 'legacy' });
    const plain = await direct();
    for (const [method, params] of EVERYTHING) {
      const [got, wanted] = [await answer(client, method, params), await answer(plain, method, params)];
      if (method === 'tools/list') {
        const { tools } = JSON.parse(got);
        expect(tools.pop().name).toBe('skills');
        expect(JSON.stringify(tools)).toBe(JSON.stringify(JSON.parse(wanted).tools));
      } else expect(got, `${method} ${JSON.stringify(params)}`).toBe(wanted);
    }
    expect(client.getServerVersion()).toEqual(plain.getServerVersion());
  });

  test('a client of revision 2026-07-28 gets the same from a server that knows only the older ones', async () => {
    const client = await gateway.connect('/mcp/plain');
    expect(client.getProtocolEra()).toBe('modern');
    const plain = await direct();
    for (const [method, params] of EVERYTHING) {
      // Gone in the newer revision.
      if (/^(ping|logging|tasks|resources\/(un)?subscribe|example|tools\/list)/.test(method)) continue;
      const { _meta, ttlMs, cacheScope, ...got } = JSON.parse(await answer(client, method, params));
      const { _meta: own, ...wanted } = JSON.parse(await answer(plain, method, params));
      expect(got, `${method} ${JSON.stringify(params)}`).toEqual(wanted);
      if (own) expect(_meta).toMatchObject(own);
    }
  });

  test('the handshake says what the server says, between what is ours', async () => {
    const client = await gateway.connect('/mcp/everything');
    const text = client.getInstructions() ?? '';
    expect(text).toMatch(/^The user keeps skills and personas here: load one with skills/);
    expect(text).toContain((await direct()).getInstructions()?.trim());
    expect(text).toContain('echo: TRIGGER on echoes.');
    expect(client.getServerCapabilities()).toMatchObject({
      tools: {},
      prompts: {},
      resources: {},
      completions: {},
    });
  });
});

test.each(['auto', 'legacy'] as const)(
  'progress reaches a client that negotiates %s while the tool still works, and its cancelling reaches the server',
  async (mode) => {
    let goOn = () => {};
    const seen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let heardCancel = () => {};
    const cancelled = new Promise<void>((resolve) => {
      heardCancel = resolve;
    });
    const upstream = await startScripted(async ({ method, params, event, end, result, response }) => {
      if (method === 'tools/list') return result({ tools: [tool('work'), tool('hang')] });
      if (method === 'notifications/cancelled') return heardCancel();
      if (params?.name === 'hang') {
        response.on('close', heardCancel);
        return event({
          method: 'notifications/progress',
          params: { progressToken: params._meta.progressToken, progress: 1 },
        });
      }
      if (params?.name !== 'work') return;
      event({
        method: 'notifications/progress',
        params: { progressToken: params._meta.progressToken, progress: 1, total: 2 },
      });
      // Only who has heard of it lets the tool end.
      await seen;
      end({ content: [{ type: 'text', text: 'done' }] });
    });
    onTestFinished(upstream.stop);
    const name = `slow-${mode}`;
    await gateway.addServer(name, upstream.url);
    const client = await gateway.connect(`/mcp/${name}`, { mode });
    const worked = await client.callTool({ name: 'work', arguments: {} }, { onprogress: () => goOn() });
    expect(worked.content).toEqual([{ type: 'text', text: 'done' }]);

    const stop = new AbortController();
    const hanging = client.callTool(
      { name: 'hang', arguments: {} },
      { signal: stop.signal, onprogress: () => stop.abort() },
    );
    await expect(hanging).rejects.toThrow();
    await cancelled;
  },
);

test('server-memory: a skill that is gated on an entity type comes with the entity and goes with it', async () => {
  const memory = await startMemory(gateway.folder);
  onTestFinished(memory.stop);
  await gateway.addServer('memory', memory.url, { manifest: 'skills: true\ngraph: memory\n' });
  await gateway.addSkill(
    'papers',
    '---\nname: papers\ndescription: On papers.\nreferences_tools: [search_nodes]\napplies_when:\n  graph_has_node_type: [Paper]\n---\n\nRead them.\n',
  );
  const client = await gateway.connect('/mcp/memory');
  const rides = async () => {
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    return tools.find(({ name }) => name === 'search_nodes')?.description?.includes('mcp-skill:papers');
  };
  expect(await rides()).toBe(false);
  const entity = { name: 'p1', entityType: 'Paper', observations: ['year: 1999'] };
  await client.callTool({ name: 'create_entities', arguments: { entities: [entity] } });
  expect(await rides()).toBe(true);
  await client.callTool({ name: 'delete_entities', arguments: { entityNames: ['p1'] } });
  expect(await rides()).toBe(false);
});

describe('a server that is down', () => {
  test('has its last good list served, marked stale; its calls say so', async () => {
    const upstream = await startScripted(({ method, result }) => {
      if (method === 'tools/list') result({ tools: [tool('kept')] });
    });
    await gateway.addServer('down', upstream.url);
    const first = await gateway.connect('/mcp/down');
    await first.listTools();
    await expect.poll(async () => (await gateway.api('GET', '/servers/down')).json.listed?.tools).toBe(1);
    await upstream.stop();
    const client = await gateway.connect('/mcp/down');
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(['kept', 'skills']);
    expect(listed._meta?.['repertoire/staleSince']).toMatch(/^\d{4}-/);
    const called = await client.callTool({ name: 'kept', arguments: {} });
    expect(called).toMatchObject({ isError: true });
    expect(JSON.stringify(called.content)).toContain('The server down cannot be reached');
    expect((await gateway.api('GET', '/servers/down/preview')).json.stale).toBe(true);
  });

  test('and has never answered is an error that says so, and its handshake still tells the rest', async () => {
    const gone = await startScripted(() => {});
    await gone.stop();
    await gateway.addServer('never', gone.url);
    const client = await gateway.connect('/mcp/never');
    expect(client.getInstructions()).toContain('[kglite-mode] bare');
    await expect(client.listTools()).rejects.toThrow('The server never cannot be reached');
  });

  test.each([
    ['and was seen before', true],
    ['and has never answered', false],
  ])('%s takes none of the skills from the prompts', async (_, seen) => {
    const upstream = await startScripted(
      ({ method, result }) => {
        if (method === 'tools/list') result({ tools: [tool('echo')] });
        if (method === 'prompts/list') result({ prompts: [{ name: 'own' }] });
      },
      { says: { capabilities: { tools: {}, prompts: {} } } },
    );
    const name = seen ? 'prompts-seen' : 'prompts-never';
    await gateway.addServer(name, upstream.url, { manifest: 'skills: true\n' });
    const skill = `---\nname: method\ndescription: How.\n---\n\nBy hand.\n`;
    await gateway.api('PUT', `/servers/${name}/skills/method.md`, { text: skill });
    if (seen) {
      const before = await gateway.connect(`/mcp/${name}`);
      await before.listTools();
      expect((await before.listPrompts()).prompts.map((prompt) => prompt.name)).toContain('own');
      await expect
        .poll(async () => (await gateway.api('GET', `/servers/${name}`)).json.listed?.tools)
        .toBe(1);
    }
    await upstream.stop();
    const client = await gateway.connect(`/mcp/${name}`);
    expect((await client.listPrompts()).prompts).toContainEqual({ name: 'method', description: 'How.' });
    const { messages } = await client.getPrompt({ name: 'method' });
    expect(messages).toEqual([
      { role: 'user', content: { type: 'text', text: expect.stringContaining('By hand.') } },
    ]);
    const cannot = `The server ${name} cannot be reached`;
    await expect(client.getPrompt({ name: 'own' })).rejects.toThrow(cannot);
    await expect(client.listPrompts({ cursor: 'next' })).rejects.toThrow(cannot);
  });
});

describe('the main list', () => {
  test('has the tools of servers that are switched into it, prefixed, with their skills, and calls them', async () => {
    const silent = await startScripted(() => new Promise(() => {}));
    onTestFinished(silent.stop);
    await gateway.addServer('silent', silent.url, { in_main: true });
    await gateway.api('PATCH', '/servers/everything', { in_main: true });
    const client = await gateway.connect('/mcp');
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['skills', 'skill_edit']);
    expect(names).toContain('everything_get-sum');
    expect(names.some((name) => name.startsWith('silent_'))).toBe(false);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(tools.find(({ name }) => name === 'everything_echo')?.description).toContain('mcp-skill:echo');
    const sum = await client.callTool({ name: 'everything_get-sum', arguments: { a: 1, b: 2 } });
    expect(JSON.stringify(sum.content)).toContain('3');
    const progress: number[] = [];
    await client.callTool(
      { name: 'everything_trigger-long-running-operation', arguments: { duration: 0.05, steps: 3 } },
      { onprogress: (step) => progress.push(step.progress) },
    );
    expect(progress).toEqual([1, 2, 3]);
    await expect(client.callTool({ name: 'everything_nothing', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    await gateway.api('PATCH', '/servers/everything', { in_main: false });
    await gateway.api('DELETE', '/servers/silent');
    expect((await (await gateway.connect('/mcp')).listTools()).tools).toHaveLength(2);
  });
});

test('the preview says what each kind of client gets, how long it is and what rides', async () => {
  const long = `---\nname: long\ndescription: When long.\nreferences_tools: [get-sum]\n---\n\n${'word '.repeat(600)}\n`;
  await gateway.api('PUT', '/servers/everything/skills/long.md', { text: long });
  const { json } = await gateway.api('GET', '/servers/everything/preview');
  const of = (client: string | null) => {
    const told = json.clients.find((each: { client: string | null }) => each.client === client);
    return { ...told, sum: told.tools.find(({ name }: { name: string }) => name === 'get-sum') };
  };
  expect(of('claude-code')).toMatchObject({ cap: 2048, sum: { form: 'lazy', over_cap: false } });
  expect(of(null)).toMatchObject({ cap: null, sum: { form: 'eager', skills: [{ name: 'long' }] } });
  const { length, tokens, base_length, skills, description } = of(null).sum;
  expect(length).toBe(description.length);
  expect(tokens).toBe(Math.ceil(length / 4));
  expect(base_length + skills[0].chars).toBe(length);
  const one = await gateway.api('GET', '/servers/everything/preview?client=codex');
  expect(one.json.clients.map(({ client }: { client: string }) => client)).toEqual(['codex']);
  expect((await gateway.api('GET', '/servers/everything/preview?client=nobody')).status).toBe(400);
  expect((await gateway.api('DELETE', '/servers/everything/skills/long.md')).status).toBe(204);
});
