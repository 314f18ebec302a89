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
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** A server that speaks revision 2026-07-28 and nothing older. */
export async function modernServer(): Promise<{ url: string; handler: McpHttpHandler; levels: unknown[] }> {
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
