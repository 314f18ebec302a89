import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export interface Mcp {
  call(name: string, args: Record<string, unknown>): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A real MCP client with its handshake behind it. `legacy` clients speak the revisions that know `ping`. */
export async function connect(
  { url, token }: { url: string; token: string },
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Mcp> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  await client.listTools();
  return {
    async call(name, args) {
      const { isError, content } = await client.callTool({ name, arguments: args });
      if (isError) throw new Error(`${name} was refused: ${JSON.stringify(content)}`);
    },
    ping: async () => void (await client.ping()),
    close: () => client.close(),
  };
}
