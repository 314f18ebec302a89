import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';

/** Properties by node type. */
export type Graph = Record<string, readonly string[]>;

export interface GraphServer {
  readonly url: string;
  /** Null: no graph is active. */
  graph: Graph | null;
  /** `tools/list` and graph questions so far. */
  readonly lists: number;
  readonly questions: number;
  /** Tools by their base text; may be changed. */
  readonly tools: Map<string, string>;
  stop(): Promise<void>;
}

/** How a host asks {@link startGraphServer}'s server for its graph. */
export const GRAPH = {
  tool: 'graph_overview',
  node_types: 'types[].name',
  properties: 'types[].[name, properties]',
};

const TOOLS: Record<string, string> = {
  cypher_query: 'Runs a query.',
  graph_overview: 'What is in the graph.',
  explore: 'Shows what is around a node.',
  grep: 'Finds text.',
  read_source: 'Reads a file.',
  load_graph: 'Makes another graph the active one.',
};

/** A graph server of the kind that the guide is about, over Streamable HTTP without sessions, on loopback. */
export async function startGraphServer(graph: Graph | null = {}): Promise<GraphServer> {
  const state = {
    graph,
    lists: 0,
    questions: 0,
    tools: new Map(Object.entries(TOOLS)),
  };
  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport();
    await build(state).connect(transport);
    await transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return Object.assign(state, {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async stop() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  });
}

function build(
  state: Pick<GraphServer, 'tools'> & { graph: Graph | null; lists: number; questions: number },
) {
  const server = new Server(
    { name: 'graph', version: '1' },
    { capabilities: { tools: {}, prompts: {} }, instructions: 'The server itself.' },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => {
    state.lists++;
    return {
      tools: [...state.tools].map(([name, description]) => ({
        name,
        description,
        inputSchema: { type: 'object' as const, properties: {} },
        _meta: { 'example.com/kept': name },
        ...(name !== 'load_graph' && { annotations: { readOnlyHint: true } }),
      })),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const { name, arguments: args = {} } = params;
    if (!state.tools.has(name)) throw new McpError(ErrorCode.InvalidParams, `no ${name}`, { name });
    if (name === 'graph_overview') return overview(state);
    if (name === 'load_graph') state.graph = args.graph as Graph | null;
    if (name === 'grep') return { isError: true, content: [{ type: 'text', text: 'grep failed' }] };
    const text = JSON.stringify({ name, args });
    return {
      content: [{ type: 'text', text }],
      structuredContent: { name, args },
      _meta: { 'example.com/call': 1 },
    };
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [{ name: 'own-prompt', description: 'Of the server.' }],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name } }) => {
    if (name !== 'own-prompt') throw new McpError(ErrorCode.InvalidParams, `no prompt ${name}`);
    return { messages: [{ role: 'user', content: { type: 'text', text: 'own' } }] };
  });
  return server;
}

function overview(state: { graph: Graph | null; questions: number }) {
  state.questions++;
  if (state.graph === null) {
    return { isError: true, content: [{ type: 'text' as const, text: 'No active graph.' }] };
  }
  const types = Object.entries(state.graph).map(([name, properties]) => ({ name, properties }));
  return {
    content: [{ type: 'text' as const, text: JSON.stringify({ types }) }],
    structuredContent: { types },
  };
}
