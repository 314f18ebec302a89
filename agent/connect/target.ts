import { posix, win32 } from 'node:path';
import { CLIENTS, type ClientId } from '../../schema/clients.ts';
import { clientPresence, type Machine } from '../../schema/folders.ts';
import { platformPaths } from '../platform.ts';

/** The clients that `repertoire connect` knows, by the names that it takes. */
const NAMES = {
  'claude-code': 'claude-code',
  codex: 'codex',
  cursor: 'cursor',
  opencode: 'opencode',
  gemini: 'gemini-cli',
  'gemini-cli': 'gemini-cli',
  copilot: 'copilot-cli',
  'copilot-cli': 'copilot-cli',
} as const satisfies Record<string, ClientId>;

export type ConnectedClient = (typeof NAMES)[keyof typeof NAMES];

/** The names to offer a person. */
export const CLIENT_NAMES = ['claude-code', 'codex', 'cursor', 'opencode', 'gemini', 'copilot'] as const;

/** Name of our server in every client's configuration. */
export const SERVER_NAME = 'repertoire';

/** Where and in which form a client keeps its MCP servers. */
export interface Target {
  client: ConnectedClient;
  title: string;
  format: 'json' | 'toml';
  /** Absolute. The first that exists is the one in use; when none does, the last is made. */
  candidates: string[];
  /** Key of the object that holds a server per name. */
  container: string;
}

/** Null for a name that is none of {@link CLIENT_NAMES} nor one of their long forms. */
export function findClient(name: string): ConnectedClient | null {
  return Object.hasOwn(NAMES, name) ? NAMES[name as keyof typeof NAMES] : null;
}

/** Where a client's user-wide configuration is, without looking at the disk. */
export function clientTarget(client: ConnectedClient, machine: Machine): Target {
  const { join, isAbsolute } = machine.platform === 'win32' ? win32 : posix;
  const folder = clientPresence(machine).find((place) => place.client === client)?.path ?? machine.home;
  const title = CLIENTS.find(({ id }) => id === client)?.title ?? client;
  const json = { client, title, format: 'json', container: 'mcpServers' } as const;
  switch (client) {
    case 'claude-code': {
      const chosen = machine.env.CLAUDE_CONFIG_DIR;
      // Beside its folder, not in it, unless the folder is named; an older file in the folder goes before both.
      const beside = chosen && isAbsolute(chosen) ? chosen : machine.home;
      return { ...json, candidates: [join(folder, '.config.json'), join(beside, '.claude.json')] };
    }
    case 'codex':
      return {
        client,
        title,
        format: 'toml',
        container: 'mcp_servers',
        candidates: [join(folder, 'config.toml')],
      };
    case 'cursor':
      return { ...json, candidates: [join(folder, 'mcp.json')] };
    case 'opencode':
      return {
        ...json,
        container: 'mcp',
        candidates: [join(folder, 'opencode.jsonc'), join(folder, 'opencode.json')],
      };
    case 'gemini-cli':
      return { ...json, candidates: [join(folder, 'settings.json')] };
    case 'copilot-cli':
      return { ...json, candidates: [join(folder, 'mcp-config.json')] };
  }
}

export interface Launch {
  /** Program and leading arguments that start the `repertoire` command, such as Node's full path and the script's. */
  command: readonly string[];
  /** WSL distribution that the server shall serve. */
  wslDistro?: string | undefined;
}

/** Our server as a client's configuration has it. Clients hand down few variables, so those that it needs are in it. */
export function serverEntry(
  client: ConnectedClient,
  machine: Machine,
  { command: start, wslDistro }: Launch,
): Record<string, unknown> {
  const [command, ...args] = [...start, 'mcp'];
  const env = serverEnv(machine, wslDistro);
  const some = Object.keys(env).length > 0;
  const plain = { command, args, ...(some ? { env } : {}) };
  switch (client) {
    case 'claude-code':
    case 'cursor':
      return { type: 'stdio', ...plain };
    case 'codex':
    case 'gemini-cli':
      return plain;
    case 'copilot-cli':
      return { type: 'local', ...plain, tools: ['*'] };
    case 'opencode':
      return {
        type: 'local',
        command: [command, ...args],
        ...(some ? { environment: env } : {}),
        enabled: true,
      };
  }
}

function serverEnv({ env, home, platform }: Machine, wslDistro?: string): Record<string, string> {
  const { state } = platformPaths({ env, home, platform });
  const inherited = platformPaths({ env: {}, home, platform }).state;
  return {
    ...(state === inherited ? {} : { REPERTOIRE_STATE: state }),
    ...(wslDistro ? { REPERTOIRE_WSL_DISTRO: wslDistro } : {}),
  };
}
