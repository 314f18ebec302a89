import type { ClientDocument, Registration } from './host.ts';

/** An application as it connects to a registry: what it sends is as its vendor publishes it, or as people report it. */
export interface ApplicationFacts extends Omit<Registration, 'resource'> {
  readonly title: string;
  /** MCP `clientInfo.name`. */
  readonly name: string;
  /** What the consent page calls it. */
  readonly shown: string;
}

const GRANTS = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };

const CLAUDE = {
  client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
  client_name: 'Claude',
  client_uri: 'https://claude.ai',
  redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  token_endpoint_auth_method: 'none',
  ...GRANTS,
};

const CLAUDE_CODE = {
  client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
  client_name: 'Claude Code',
  client_uri: 'https://claude.ai',
  redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  token_endpoint_auth_method: 'none',
  ...GRANTS,
};

const CHATGPT = {
  client_id: 'https://chatgpt.com/oauth/kP3xQ8/client.json',
  client_name: 'ChatGPT',
  client_uri: 'https://chatgpt.com',
  redirect_uris: ['https://chatgpt.com/connector/oauth/kP3xQ8'],
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
  jwks_uri: 'https://chatgpt.com/oauth/kP3xQ8/jwks.json',
  ...GRANTS,
};

/** Documents by their address. */
const DOCUMENTS: ReadonlyMap<string, ClientDocument> = new Map(
  [CLAUDE, CLAUDE_CODE, CHATGPT].map((document) => [document.client_id, document]),
);

/** What the hosts of the documents answer: in place of the network beyond the registry. */
export async function documentHosts({ url }: Request): Promise<Response> {
  const document = DOCUMENTS.get(url);
  return document ? Response.json(document) : new Response('There is nothing here.', { status: 404 });
}

const ON_THIS_COMPUTER = 'a program on this computer';

export const CLAUDE_AI: ApplicationFacts = {
  title: 'claude.ai',
  name: 'claude-ai',
  by: { document: CLAUDE },
  callback: 'https://claude.ai/api/mcp/auth_callback',
  shown: 'claude.ai',
};

export const CLAUDE_CODE_REGISTERED: ApplicationFacts = {
  title: 'Claude Code, registered dynamically',
  name: 'claude-code',
  by: {
    registration: {
      client_name: 'Claude Code (repertoire)',
      redirect_uris: ['http://localhost:53211/callback'],
      token_endpoint_auth_method: 'none',
      ...GRANTS,
    },
  },
  // Another port than that of its registration (RFC 8252 section 7.3).
  callback: 'http://localhost:53999/callback',
  shown: ON_THIS_COMPUTER,
};

export const APPLICATIONS: readonly ApplicationFacts[] = [
  CLAUDE_AI,
  { ...CLAUDE_AI, title: 'claude.ai at claude.com', callback: 'https://claude.com/api/mcp/auth_callback' },
  {
    title: 'ChatGPT',
    name: 'openai-mcp',
    by: { document: CHATGPT },
    callback: 'https://chatgpt.com/connector/oauth/kP3xQ8',
    shown: 'chatgpt.com',
  },
  {
    title: 'Claude Code, by its document',
    name: 'claude-code',
    by: { document: CLAUDE_CODE },
    callback: 'http://127.0.0.1:53211/callback',
    shown: 'claude.ai',
  },
  CLAUDE_CODE_REGISTERED,
  {
    title: 'Cursor',
    name: 'cursor-vscode',
    by: {
      registration: {
        client_name: 'Cursor',
        redirect_uris: [
          'cursor://anysphere.cursor-mcp/oauth/callback',
          'https://www.cursor.com/agents/mcp/oauth/callback',
          'http://localhost:8787/callback',
        ],
        token_endpoint_auth_method: 'none',
        ...GRANTS,
      },
    },
    callback: 'http://localhost:8787/callback',
    shown: ON_THIS_COMPUTER,
  },
];
