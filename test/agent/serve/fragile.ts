import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

// A server that can be made to fail. With an argument: tools of those names, and a list that never ends for `endless`.
const names = process.argv.slice(2);
let level = 'none';

const server = new Server(
  { name: 'fragile', version: '1' },
  { capabilities: { tools: { listChanged: true }, logging: {} } },
);
server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
  level = params.level;
  return {};
});
server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
  const tools = [...names, 'die', 'facts', 'wait'].map((name) => ({
    name,
    inputSchema: { type: 'object' as const },
  }));
  return { tools, ...(names.includes('endless') && { nextCursor: `${params?.cursor ?? ''}x` }) };
});
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args } }) => {
  if (name === 'die') process.exit(3);
  if (name === 'wait') await new Promise(() => {});
  const { env, pid } = process;
  const facts = { name, args, pid, level, cwd: process.cwd(), argv: process.argv.slice(2), env };
  return { content: [{ type: 'text', text: JSON.stringify(facts) }] };
});
process.stderr.write('a word to the person\n');
await server.connect(new StdioServerTransport());
