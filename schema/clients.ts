/** Where a fact about a client comes from: the program itself was run, its source or documentation says so, or others say so. */
type Evidence = 'observed' | 'documented' | 'reported';

/** A folder for skills, below the home directory or below the client's configuration folder; `/` separates. */
interface Place {
  under: 'home' | 'config';
  path: string;
  /** Environment variables that switch the place off when set (to anything but `0` or `false`). */
  unless?: readonly string[];
}

/** What a client reads on disk. Only absolute values of the variables count. */
export interface Disk {
  /** Variable that gives this client another home directory. */
  homeVariable?: string;
  /** Configuration folder: below the home directory, or `below` the value of `variable` where that is set. */
  config: { path: string; variable?: string; below?: string };
  /** Every folder read for skills; the first active one is written where no shared folder serves the client. */
  skills: readonly Place[];
  /** Folder read for personas, below the configuration folder. */
  personas: string;
  /** True when a running client sees a change only after a restart. */
  restart: boolean;
}

/** One AI client: how to recognise it, what of our texts reaches its model, and what it reads on disk. */
interface Row<Id extends string = string> {
  id: Id;
  title: string;
  evidence: Evidence;
  /** MCP `clientInfo.name`, exact. */
  names: readonly string[];
  /** MCP `clientInfo.name`, beginnings. */
  prefixes: readonly string[];
  /** OAuth `client_id` of a client metadata document, exact. */
  clientIds: readonly string[];
  clientIdPattern: RegExp | null;
  /** Characters of the server's `instructions` that reach the model; 0 for none. */
  instructions: number | 'unknown';
  /** Characters of a tool description that reach the model. */
  tool: number | 'unknown';
  /** Null where nothing is written for the client. */
  disk: Disk | null;
  /** True for the clients whose folders we write. */
  written: boolean;
}

const WHOLE = Number.POSITIVE_INFINITY;
const SHARED = '.agents/skills';

const UNKNOWN = {
  names: [],
  prefixes: [],
  clientIds: [],
  clientIdPattern: null,
  instructions: 'unknown',
  tool: 'unknown',
  disk: null,
} as const;

function row<const Id extends string>(
  id: Id,
  title: string,
  evidence: Evidence,
  facts: Partial<Omit<Row, 'id' | 'title' | 'evidence' | 'written'>> = {},
): Row<Id> {
  return { id, title, evidence, ...UNKNOWN, ...facts, written: Boolean(facts.disk) };
}

const ROWS = [
  row('claude-code', 'Claude Code', 'observed', {
    names: ['claude-code'],
    clientIds: ['https://claude.ai/oauth/claude-code-client-metadata'],
    // 4,096 in newer versions; the lower cap serves both.
    instructions: 2048,
    tool: 2048,
    disk: {
      config: { path: '.claude', variable: 'CLAUDE_CONFIG_DIR' },
      skills: [{ under: 'config', path: 'skills' }],
      personas: 'agents',
      restart: false,
    },
  }),
  row('codex', 'Codex', 'observed', {
    names: ['codex-mcp-client'],
    clientIds: ['https://chatgpt.com/oauth/codex/client.json'],
    instructions: 247,
    disk: {
      config: { path: '.codex', variable: 'CODEX_HOME' },
      // Codex lists a name that is in both folders twice; the shared one is always written, so its own never is.
      skills: [
        { under: 'home', path: SHARED },
        { under: 'config', path: 'skills' },
      ],
      personas: 'agents',
      restart: false,
    },
  }),
  row('cursor', 'Cursor', 'reported', {
    prefixes: ['cursor-vscode'],
    disk: {
      config: { path: '.cursor' },
      skills: [
        { under: 'home', path: SHARED },
        { under: 'config', path: 'skills' },
        { under: 'home', path: '.claude/skills' },
        { under: 'home', path: '.codex/skills' },
      ],
      personas: 'agents',
      restart: false,
    },
  }),
  row('opencode', 'opencode', 'observed', {
    names: ['opencode'],
    clientIds: ['https://opencode.ai/oauth/opencode/client.json'],
    instructions: WHOLE,
    tool: WHOLE,
    disk: {
      config: { path: '.config/opencode', variable: 'XDG_CONFIG_HOME', below: 'opencode' },
      skills: [
        { under: 'home', path: SHARED, unless: ['OPENCODE_DISABLE_EXTERNAL_SKILLS'] },
        {
          under: 'home',
          path: '.claude/skills',
          unless: ['OPENCODE_DISABLE_EXTERNAL_SKILLS', 'OPENCODE_DISABLE_CLAUDE_CODE_SKILLS'],
        },
        { under: 'config', path: 'skills' },
      ],
      personas: 'agents',
      restart: true,
    },
  }),
  row('gemini-cli', 'Gemini CLI', 'observed', {
    names: ['gemini-cli-mcp-client'],
    instructions: WHOLE,
    tool: WHOLE,
    disk: {
      homeVariable: 'GEMINI_CLI_HOME',
      config: { path: '.gemini' },
      skills: [
        { under: 'home', path: SHARED },
        { under: 'config', path: 'skills' },
      ],
      personas: 'agents',
      restart: false,
    },
  }),
  row('copilot-cli', 'GitHub Copilot CLI', 'observed', {
    names: ['copilot-cli'],
    instructions: 0,
    tool: WHOLE,
    disk: {
      config: { path: '.copilot', variable: 'COPILOT_HOME' },
      skills: [
        { under: 'home', path: SHARED, unless: ['COPILOT_HOME'] },
        { under: 'config', path: 'skills' },
      ],
      personas: 'agents',
      restart: false,
    },
  }),
  row('qwen-code', 'Qwen Code', 'observed', {
    prefixes: ['qwen-cli-mcp-client-'],
    instructions: WHOLE,
    tool: 160,
  }),
  row('cline-cli', 'Cline CLI', 'observed', { names: ['@cline/core'], instructions: 0, tool: WHOLE }),
  row('claude-apps', 'claude.ai, Claude Desktop, mobile and Cowork', 'reported', {
    names: ['claude-ai', 'Anthropic/ClaudeAI'],
    prefixes: ['local-agent-mode-'],
    clientIds: ['https://claude.ai/oauth/mcp-oauth-client-metadata'],
    instructions: 0,
    tool: 2000,
  }),
  row('chatgpt', 'ChatGPT', 'reported', {
    names: ['openai-mcp', 'ChatGPT'],
    clientIdPattern: /^https:\/\/chatgpt\.com\/oauth\/[^/?#]+\/client\.json$/,
    instructions: 512,
    tool: 1024,
  }),
  row('vscode', 'VS Code', 'documented', { prefixes: ['Visual Studio Code', 'Visual-Studio-Code'] }),
  row('cline', 'Cline', 'documented', { names: ['Cline'] }),
  row('roo', 'Roo Code', 'documented', { names: ['Roo Code'] }),
  row('kilo', 'Kilo Code', 'reported', { names: ['Kilo-Code'] }),
  row('goose', 'Goose', 'documented', { names: ['goose'] }),
  row('amp', 'Amp', 'reported', { names: ['amp-mcp-client'] }),
  row('crush', 'Crush', 'documented', { names: ['crush'] }),
  row('windsurf', 'Windsurf', 'reported', { names: ['Windsurf'], prefixes: ['windsurf-client'] }),
  row('zed', 'Zed', 'documented', { names: ['Zed'] }),
  row('droid', 'Factory Droid', 'documented', { names: ['factory-cli'] }),
  row('antigravity', 'Antigravity', 'reported', { names: ['antigravity-client'] }),
  row('openclaw', 'OpenClaw', 'documented'),
  row('junie', 'Junie', 'reported'),
  row('kiro', 'Kiro', 'documented'),
  row('hermes', 'Hermes', 'documented'),
] as const;

export type ClientId = (typeof ROWS)[number]['id'];
export type ClientRow = Row<ClientId>;

/** Every client that we know, in a fixed order: those whose folders we write come first. */
export const CLIENTS: readonly ClientRow[] = ROWS;

/** A client whose folders we write. */
export type WrittenClient = ClientRow & { disk: Disk };

export const WRITTEN_CLIENTS: readonly WrittenClient[] = CLIENTS.filter(
  (client): client is WrittenClient => client.disk !== null,
);

/**
 * Which client calls: by its OAuth `client_id` first, by its handshake name second; null when neither is known.
 * It says which program calls, never on which computer.
 */
export function recogniseClient(caller: {
  clientId?: string | undefined;
  name?: string | undefined;
}): ClientRow | null {
  const { clientId, name } = caller;
  return (
    (clientId === undefined ? undefined : byClientId(clientId)) ??
    (name === undefined ? undefined : byName(name)) ??
    null
  );
}

function byClientId(id: string): ClientRow | undefined {
  return (
    CLIENTS.find((client) => client.clientIds.includes(id)) ??
    CLIENTS.find((client) => client.clientIdPattern?.test(id))
  );
}

function byName(name: string): ClientRow | undefined {
  return CLIENTS.find(
    (client) =>
      client.names.some((exact) => name === exact || name.startsWith(`${exact} (via mcp-remote`)) ||
      client.prefixes.some((prefix) => name.startsWith(prefix)),
  );
}
