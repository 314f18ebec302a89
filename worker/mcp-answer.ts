import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** Protocol revisions that every MCP endpoint answers, newest first; for any other the newest with `initialize` is offered. */
export const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'];

/**
 * Milliseconds between comments on an event stream. That a client is gone shows when something is written to it, so that
 * a call is given up within this time.
 */
const KEEP_ALIVE_MS = 5000;

/** Builds the server of one request. */
type Build = () => Promise<Server | McpServer>;

/** Answers messages whose answers stream through as they come. `body` is as parsed. */
export function answerStreaming(build: Build, request: Request, body: unknown): Promise<Response> {
  return createMcpHandler(build, { keepAliveMs: KEEP_ALIVE_MS }).fetch(request, { parsedBody: body });
}

/**
 * Answers messages for which nothing streams; when it gives the answer, their handlers are done. What revisions before
 * 2026-07-28 ask is answered in JSON: the SDK's handler makes two streams of every such answer, which costs more in workerd
 * than the answer itself. `body` is as parsed.
 */
export async function answerWhole(build: Build, request: Request, body: unknown): Promise<Response> {
  if (request.method !== 'POST' || !(await isLegacyRequest(request, body))) {
    const handler = createMcpHandler(build, { keepAliveMs: 0 });
    const response = await handler.fetch(request, { parsedBody: body });
    const streams = response.headers.get('content-type')?.startsWith('text/event-stream');
    return streams ? new Response(await response.arrayBuffer(), response) : response;
  }
  const server = await build();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}
