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
