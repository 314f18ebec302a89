import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Server as McpServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const resolve = createRequire(import.meta.url).resolve;

export interface RunningUpstream {
  readonly url: string;
  stop(): Promise<void>;
}

/** `@modelcontextprotocol/server-everything` over streamable HTTP. */
export async function startEverything(): Promise<RunningUpstream> {
  const port = await freePort();
  const program = resolve('@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await said(child, 'listening');
  return { url: `http://127.0.0.1:${port}/mcp`, stop: () => ended(child) };
}

/** `@modelcontextprotocol/server-memory`, which speaks stdio only, behind a front without sessions. */
export async function startMemory(folder: string): Promise<RunningUpstream> {
  const inner = new Client({ name: 'front', version: '1' });
  await inner.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [resolve('@modelcontextprotocol/server-memory/dist/index.js')],
      env: { ...(process.env as Record<string, string>), MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
      stderr: 'ignore',
    }),
  );
  const { tools } = await inner.listTools();
  const served = await serve(async (request, response) => {
    const server = new McpServer({ name: 'memory', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => inner.callTool(params));
    const transport = new StreamableHTTPServerTransport();
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
  return {
    url: `${served.url}/mcp`,
    async stop() {
      await served.stop();
      await inner.close();
    },
  };
}

/** A loopback server of a test's own making. */
export async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<RunningUpstream> {
  const server: Server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function freePort(): Promise<number> {
  const socket = createSocket();
  socket.listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address() as AddressInfo;
  socket.close();
  await once(socket, 'close');
  return port;
}

async function said(child: ChildProcess, word: string): Promise<void> {
  let text = '';
  for await (const chunk of child.stderr ?? []) {
    text += chunk;
    if (text.includes(word)) break;
  }
  child.stderr?.resume();
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

export interface Asked {
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  readonly params: any;
  readonly headers: IncomingMessage['headers'];
  /** Answers as one JSON text. */
  result(result: unknown): void;
  /** One message of an event stream, which stays open until `end`. */
  event(message: object): void;
  end(result: unknown): void;
  readonly response: ServerResponse;
}

/** An MCP server of revision 2025-06-18 without sessions that says whatever a test lets it say. */
export async function startScripted(
  script: (asked: Asked) => unknown,
  /** What its handshake says beside the usual, and the session that it opens with each, where it keeps any. */
  { says = {}, session }: { says?: object; session?: () => string } = {},
): Promise<RunningUpstream & { readonly asked: string[] }> {
  const methods: string[] = [];
  const running = await serve(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method, params } = JSON.parse(body);
    methods.push(method);
    const result = (value: unknown) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: value }));
    };
    const event = (message: object) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    };
    const end = (value: unknown) => {
      event({ id, result: value });
      response.end();
    };
    const asked = { method, params, headers: request.headers, result, event, end, response };
    if (method === 'server/discover') {
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }),
      );
    }
    if (method === 'initialize') {
      if (session) response.setHeader('mcp-session-id', session());
      return result({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'scripted', version: '1' },
        ...says,
      });
    }
    if (id === undefined) response.writeHead(202).end();
    await script(asked);
  });
  return { ...running, asked: methods };
}

export const tool = (name: string, description = `Does ${name}.`) => ({
  name,
  description,
  inputSchema: { type: 'object' },
});
