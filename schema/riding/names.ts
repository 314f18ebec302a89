import { sha256 } from '../digest.ts';

/** Characters of a tool name that every host accepts. */
const NAME_CHARS = 64;
const HASH_CHARS = 8;
const HASHED = /_[0-9a-f]{8}$/;

/** A tool of a server; without one, the tool is offered by its own name. */
export interface ServerTool {
  readonly server: string | null;
  readonly tool: string;
}

/**
 * The names under which tools are offered, in the order given, at most 64 of `[a-zA-Z0-9_-]` each: `server_tool`. Each
 * depends on its server and tool alone, never on which others are there. A name that does not fit, or could be read as
 * that of another pair, is cut and ends in a hash of its pair.
 */
export function exposeNames(tools: readonly ServerTool[]): Promise<string[]> {
  return Promise.all(tools.map(exposeName));
}

async function exposeName({ server, tool }: ServerTool): Promise<string> {
  const name = server === null ? tool : `${server}_${tool}`;
  const plain = /^[a-zA-Z0-9_-]+$/.test(name) && name.length <= NAME_CHARS && !HASHED.test(name);
  // Without `_` in the server's name, the first `_` ends it.
  if (plain && !server?.includes('_')) return name;
  const hash = (await sha256(JSON.stringify([server, tool]))).slice(0, HASH_CHARS);
  const cut = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_CHARS - HASH_CHARS - 1);
  return `${cut}_${hash}`;
}
