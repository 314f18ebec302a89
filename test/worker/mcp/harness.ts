import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { type Answer, type Call, openTestApi, type TestApi } from '../api/harness.ts';

export const LEGACY = ['2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const MODERN = '2026-07-28';

interface McpCall extends Omit<Call, 'method' | 'body'> {
  /** `clientInfo.name`. */
  client?: string;
  /** Protocol revision; 2026-07-28 unless given. */
  revision?: string;
}

interface McpAnswer extends Answer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  result: any;
  error: { code: number; message: string } | undefined;
}

export interface TestMcp extends TestApi {
  /** One request to `/mcp`, in the form of its revision. */
  rpc(method: string, params: Record<string, unknown>, call: McpCall): Promise<McpAnswer>;
  /** What a handshake tells the client: `initialize`, or since 2026-07-28 `server/discover`. */
  instructions(call: McpCall): Promise<string | undefined>;
  /** Description of the tool `skills`. */
  description(call: McpCall): Promise<string>;
  /** A tool's answer, read as JSON unless it is an error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  tool(name: string, args: unknown, call: McpCall): Promise<{ json: any; text: string; isError: boolean }>;
}

/** The whole Worker but for the platform, spoken to over MCP. */
export async function openTestMcp(): Promise<TestMcp> {
  const api = await openTestApi();

  async function rpc(method: string, params: Record<string, unknown>, call: McpCall): Promise<McpAnswer> {
    const { client, revision = MODERN, headers = {}, ...who } = call;
    const answer = await api.call('/mcp', {
      method: 'POST',
      body: {
        jsonrpc: '2.0',
        id: 1,
        method,
        params: revision === MODERN ? { ...params, _meta: envelope(client) } : params,
      },
      headers: { ...headersOf(method, params, revision), ...headers },
      ...who,
    });
    const message = readMessage(answer);
    return { ...answer, result: message?.result, error: message?.error };
  }

  async function tool(name: string, args: unknown, call: McpCall) {
    const { result } = await rpc('tools/call', { name, arguments: args }, call);
    const text: string = result.content[0].text;
    const isError = result.isError === true;
    return { text, isError, json: isError ? null : JSON.parse(text) };
  }

  return {
    ...api,
    rpc,
    tool,
    async instructions(call) {
      const { client = 'someone', revision = MODERN } = call;
      const [method, params] =
        revision === MODERN
          ? (['server/discover', {}] as const)
          : ([
              'initialize',
              { protocolVersion: revision, capabilities: {}, clientInfo: { name: client, version: '1' } },
            ] as const);
      return (await rpc(method, params, call)).result.instructions;
    },
    async description(call) {
      const { result } = await rpc('tools/list', {}, call);
      return result.tools[0].description;
    },
  };
}

function envelope(client = 'someone') {
  return {
    [PROTOCOL_VERSION_META_KEY]: MODERN,
    [CLIENT_CAPABILITIES_META_KEY]: {},
    [CLIENT_INFO_META_KEY]: { name: client, version: '1.2.3' },
  };
}

export function headersOf(
  method: string,
  params: { name?: unknown; uri?: unknown } = {},
  revision: string = MODERN,
): Record<string, string> {
  const name = params.name ?? params.uri;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(method === 'initialize' && revision !== MODERN ? {} : { 'mcp-protocol-version': revision }),
    ...(revision === MODERN
      ? { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': String(name) }) }
      : {}),
  };
}

function readMessage({ json, text, status }: Answer) {
  if (json) return status < 400 || 'jsonrpc' in json ? json : undefined;
  const data = /^data: (.*)$/m.exec(text)?.[1];
  return data === undefined ? undefined : JSON.parse(data);
}
