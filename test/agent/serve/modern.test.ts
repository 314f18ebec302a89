import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  LOG_LEVEL_META_KEY,
  type McpHttpHandler,
  McpServer,
} from '@modelcontextprotocol/server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { serveHere, skillFile } from './harness.ts';

/** A server that speaks revision 2026-07-28 and nothing older. */
async function modernServer(): Promise<{ url: string; handler: McpHttpHandler; levels: unknown[] }> {
  const levels: unknown[] = [];
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: 'modern', version: '1' },
        {
          instructions: 'The server itself.',
          capabilities: {
            tools: { listChanged: true },
            resources: { listChanged: true, subscribe: true },
            logging: {},
          },
        },
      );
      server.registerTool('deploy', { description: 'Deploys.' }, async ({ mcpReq }) => {
        levels.push((mcpReq.envelope as Record<string, unknown>)[LOG_LEVEL_META_KEY]);
        const answer = acceptedContent(mcpReq.inputResponses, 'where');
        if (answer) return { content: [{ type: 'text', text: `to ${answer.place}` }] };
        const requestedSchema = {
          type: 'object' as const,
          properties: { place: { type: 'string' as const } },
        };
        return inputRequired({
          inputRequests: { where: inputRequired.elicit({ message: 'Where?', requestedSchema }) },
        });
      });
      server.registerTool('sum', { inputSchema: z.object({ a: z.number() }) }, async ({ a }) => ({
        content: [{ type: 'text', text: String(a) }],
        structuredContent: { a },
        _meta: { 'example.com/x': 1 },
      }));
      server.registerTool(
        'mirrored',
        {
          inputSchema: z.object({
            region: z.string().meta({ 'x-mcp-header': 'Region' }),
            inner: z.object({ count: z.int().meta({ 'x-mcp-header': 'Count' }) }),
          }),
        },
        async (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }),
      );
      return server;
    },
    { legacy: 'reject', keepAliveMs: 0 },
  );
  const http = createServer(async (request, response) => {
    const body = request.method === 'POST' ? (Readable.toWeb(request) as ReadableStream) : null;
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: request.headers as Record<string, string>,
        body,
        ...(body && { duplex: 'half' }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) Readable.fromWeb(answer.body as never).pipe(response);
    else response.end();
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, handler, levels };
}

const skills = { 'deploy.md': skillFile({ name: 'deploy', description: 'When to deploy.' }) };

test.each(['modern', 'legacy'] as const)(
  'a server of revision 2026-07-28 alone serves a %s client: lists, calls, what it has to ask, changes',
  async (era) => {
    const { url, handler, levels } = await modernServer();
    const asked: unknown[] = [];
    const { client, heard } = await serveHere({
      manifest: { url, skills: true },
      skills,
      era,
      options: { capabilities: { elicitation: { form: {} } } },
      prepare: (each) =>
        each.setRequestHandler('elicitation/create', async ({ params }) => {
          asked.push(params.message);
          return { action: 'accept', content: { place: 'Oslo' } };
        }),
    });
    expect(client.getInstructions()).toContain('The server itself.');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['deploy', 'sum', 'mirrored', 'skills']);
    expect(tools[0]?.description).toMatch(/^Deploys\.\n\n<!-- mcp-skill:deploy -->/);
    expect(await client.callTool({ name: 'sum', arguments: { a: 3 } })).toMatchObject({
      content: [{ type: 'text', text: '3' }],
      structuredContent: { a: 3 },
      _meta: { 'example.com/x': 1 },
    });

    // The server refuses the call when header and argument differ.
    for (const region of ['eu-1', ' Ünder ', '=?base64?eA==?=', '']) {
      const args = { region, inner: { count: 7 } };
      const { content } = await client.callTool({ name: 'mirrored', arguments: args });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(args) }]);
    }

    if (era === 'legacy') await client.setLoggingLevel('warning');
    const level = era === 'modern' ? { _meta: { [LOG_LEVEL_META_KEY]: 'warning' } } : {};
    const deployed = await client.callTool({ name: 'deploy', arguments: {}, ...level });
    expect(deployed.content).toEqual([{ type: 'text', text: 'to Oslo' }]);
    expect(asked).toEqual(['Where?']);
    expect(levels).toEqual(['warning', 'warning']);

    const listening = { toolsListChanged: true, resourceSubscriptions: ['demo://r'] };
    if (era === 'modern') await client.listen(listening);
    else await client.subscribeResource({ uri: 'demo://r' });
    const methods = () => heard.map(({ method }) => method);
    await vi.waitFor(() => {
      handler.notify.resourceUpdated('demo://r');
      handler.notify.toolsChanged();
      expect(methods()).toContain('notifications/resources/updated');
      expect(methods()).toContain('notifications/tools/list_changed');
    });
  },
);

test('a client of revision 2026-07-28 that cannot be asked is told so by the server', async () => {
  const { url } = await modernServer();
  const { client } = await serveHere({ manifest: { url }, era: 'modern' });
  await expect(client.callTool({ name: 'deploy', arguments: {} })).rejects.toMatchObject({ code: -32021 });
});
