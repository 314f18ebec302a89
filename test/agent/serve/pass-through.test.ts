import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, NODE, program, serveHere, start } from './harness.ts';
import { able, answer, EVERYTHING } from './surface.ts';

const STDIO = [program('everything'), 'stdio'];
const MANIFEST = { command: NODE, args: STDIO };

/** The reference server over Streamable HTTP, on a free port. */
async function everythingOverHttp(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  const child = spawn(NODE, [program('everything'), 'streamableHttp'], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  await once(child.stderr, 'data');
  return `http://127.0.0.1:${port}/mcp`;
}

async function direct(url: string | null, asked: unknown[]): Promise<Client> {
  const { capabilities, prepare } = able(asked);
  if (url === null) return (await start(STDIO, { options: { capabilities }, prepare })).client;
  const client = new Client({ name: 'test-client', version: '1.2.3' }, { capabilities });
  prepare(client);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

describe.each(['stdio', 'http'])('server-everything over %s', (transport) => {
  test('answers every request as if nothing stood between, while skills are off', async () => {
    const url = transport === 'http' ? await everythingOverHttp() : null;
    const asked: unknown[] = [];
    const wished: unknown[] = [];
    const { capabilities, prepare } = able(asked);
    const { client } = await serveHere({
      manifest: url === null ? MANIFEST : { url },
      options: { capabilities },
      prepare,
    });
    const plain = await direct(url, wished);

    for (const [method, params] of EVERYTHING) {
      const [got, wanted] = [await answer(client, method, params), await answer(plain, method, params)];
      expect(got, `${method} ${JSON.stringify(params)}`).toBe(wanted);
    }
    expect(asked).toEqual(wished);
    expect(asked).toHaveLength(2);
    expect(client.getServerVersion()).toEqual(plain.getServerVersion());
    expect(client.getNegotiatedProtocolVersion()).toBe(plain.getNegotiatedProtocolVersion());
    expect(client.getServerCapabilities()).toEqual(plain.getServerCapabilities());
    expect(client.getInstructions()).toContain(plain.getInstructions()?.trim());
  });

  test('adds only what rides, the loader and the prompts, while skills are on', async () => {
    const url = transport === 'http' ? await everythingOverHttp() : null;
    const { capabilities, prepare } = able([]);
    const upstream = url === null ? MANIFEST : { url };
    const { client } = await serveHere({
      manifest: { ...upstream, skills: true },
      skills: { 'echo.md': skillFile({ name: 'echo', description: 'When to echo.' }) },
      options: { capabilities },
      prepare,
    });
    const plain = await direct(url, []);

    const { tools } = await client.listTools();
    const { tools: wanted } = await plain.listTools();
    expect(tools.at(-1)?.name).toBe('skills');
    expect(tools.length).toBe(wanted.length + 1);
    for (const [i, tool] of wanted.entries()) {
      const { description, ...got } = tools[i] ?? {};
      const { description: base, ...rest } = tool;
      expect(got).toEqual(rest);
      expect(description).toBe(
        tool.name === 'echo'
          ? `${base}\n\n<!-- mcp-skill:echo -->\n\n## When to use\n\nWhen to echo.\n\n## Methodology\n\nDo it so.`
          : base,
      );
    }
    const { prompts } = await client.listPrompts();
    const own = (await plain.listPrompts()).prompts;
    expect(prompts.slice(0, own.length)).toEqual(own);
    expect(prompts.slice(own.length).map(({ name }) => name)).toContain('echo');
    for (const [method, params] of EVERYTHING) {
      if (method === 'tools/list' || method === 'prompts/list') continue;
      expect(await answer(client, method, params)).toBe(await answer(plain, method, params));
    }
  });

  test('progress, log messages and changes of resources arrive, and a cancelled call ends behind us too', async () => {
    const url = transport === 'http' ? await everythingOverHttp() : null;
    const { client, heard } = await serveHere({
      manifest: url === null ? MANIFEST : { url },
      prepare: (each) => each.removeNotificationHandler('notifications/progress'),
    });
    const long = { name: 'trigger-long-running-operation' };
    const meta = { progressToken: 'mine' };
    await answer(client, 'tools/call', { ...long, arguments: { duration: 0.05, steps: 5 }, _meta: meta });
    const progressed = heard.filter(({ method }) => method === 'notifications/progress');
    expect(progressed.map(({ params }) => params)).toEqual(
      [1, 2, 3, 4, 5].map((progress) => ({ progress, total: 5, progressToken: 'mine' })),
    );

    await client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' });
    await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await client.callTool({ name: 'toggle-simulated-logging', arguments: {} });
    const methods = () => heard.map(({ method }) => method);
    await vi.waitFor(() => expect(methods()).toContain('notifications/resources/updated'), 60_000);
    await vi.waitFor(() => expect(methods()).toContain('notifications/message'), 60_000);

    const stop = new AbortController();
    const cancelled = client.callTool(
      { ...long, arguments: { duration: 3600, steps: 36_000 }, _meta: { progressToken: 'other' } },
      { signal: stop.signal },
    );
    cancelled.catch(() => {});
    const steps = () => heard.filter(({ params }) => params?.progressToken === 'other').length;
    await vi.waitFor(() => expect(steps()).toBeGreaterThan(0), 60_000);
    stop.abort();
    await expect(cancelled).rejects.toThrow();
    expect(
      await answer(client, 'tools/call', { name: 'echo', arguments: { message: 'still there' } }),
    ).toContain('still there');
  });
});

test('a client of revision 2026-07-28 gets the same from a server that knows only the older ones', async () => {
  const { client } = await serveHere({ manifest: MANIFEST, era: 'modern' });
  const plain = (await start(STDIO)).client;
  for (const [method, params] of EVERYTHING) {
    // Gone in the newer revision, or what its client cannot be asked for.
    if (/^(ping|logging|tasks|resources\/(un)?subscribe|example)/.test(method)) continue;
    if (/roots|sampling|elicitation/.test(String(params?.name))) continue;
    const { _meta, ttlMs, cacheScope, ...got } = JSON.parse(await answer(client, method, params));
    const { _meta: own, ...wanted } = JSON.parse(await answer(plain, method, params));
    // Tasks are no part of the newer revision.
    for (const tool of wanted.tools ?? []) delete tool.execution;
    expect(got, `${method} ${JSON.stringify(params)}`).toEqual(wanted);
    if (own) expect(_meta).toMatchObject(own);
  }
});

test('a client of revision 2026-07-28 hears of a resource that it listens to, and of log messages that it asked for', async () => {
  const { client, heard } = await serveHere({ manifest: MANIFEST, era: 'modern' });
  const uri = 'demo://resource/dynamic/text/1';
  await client.listen({ resourceSubscriptions: [uri] });
  await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
  await client.callTool({
    name: 'toggle-simulated-logging',
    arguments: {},
    _meta: { 'io.modelcontextprotocol/logLevel': 'debug' },
  });
  await vi.waitFor(
    () => {
      const updated = heard.find(({ method }) => method === 'notifications/resources/updated');
      expect(updated?.params?.uri).toBe(uri);
      expect(heard.map(({ method }) => method)).toContain('notifications/message');
    },
    { timeout: 60_000 },
  );
});

test('server-filesystem works on the folder that it was given, and asks the client for its roots', async () => {
  const place = folder();
  writeFileSync(join(place, 'a.txt'), 'one\ntwo\n');
  const args = [program('filesystem'), place];
  const { client } = await serveHere({
    manifest: { command: NODE, args, skills: true },
    skills: {
      'read.md': skillFile({ name: 'reading', references_tools: ['read_text_file', 'list_directory'] }),
    },
  });
  const plain = (await start(args)).client;
  const requests: [string, Record<string, unknown>][] = [
    ['tools/call', { name: 'read_text_file', arguments: { path: join(place, 'a.txt') } }],
    ['tools/call', { name: 'read_text_file', arguments: { path: '/etc/passwd' } }],
    ['tools/call', { name: 'list_directory', arguments: { path: place } }],
    ['tools/call', { name: 'write_file', arguments: { path: join(place, 'b.txt'), content: 'b' } }],
    ['tools/call', { name: 'list_allowed_directories', arguments: {} }],
  ];
  for (const [method, params] of requests) {
    expect(await answer(client, method, params)).toBe(await answer(plain, method, params));
  }
  const riding = (await client.listTools()).tools.filter(({ description }) =>
    description?.includes('mcp-skill:reading'),
  );
  expect(riding.map(({ name }) => name).sort()).toEqual(['list_directory', 'read_text_file']);

  const root = folder();
  const asked = await serveHere({
    manifest: { command: NODE, args },
    options: { capabilities: { roots: {} } },
    prepare: (each) =>
      each.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file://${root}` }] })),
  });
  await vi.waitFor(async () => {
    const allowed = await answer(asked.client, 'tools/call', {
      name: 'list_allowed_directories',
      arguments: {},
    });
    expect(allowed).toContain(root);
  });
});
