import { isSpecType, type Tool } from '@modelcontextprotocol/server';
import { RegistryError } from '../../schema/errors.ts';
import { Shelf } from './shelf.ts';
import { rejected, type Upstream } from './upstream.ts';

/** What no client could use, and no isolate should hold. */
const MOST_TOOLS = 1000;
const MOST_PAGES = 64;
const MOST_CHARS = 2 * 1024 * 1024;

export interface ToolList {
  readonly tools: readonly Tool[];
  /** Why some that the server listed are left out, one sentence each. */
  readonly leftOut: readonly string[];
}

/** Every page of a server's tools. @throws RegistryError `unavailable` when it does not answer, or with too much */
export async function listUpstreamTools(
  upstream: Upstream,
  /** `key`: of what is kept of the server. */
  { name, key }: { name: string; key: string },
  signal: AbortSignal,
): Promise<ToolList> {
  const listed: unknown[] = [];
  let cursor: string | undefined;
  let json = '';
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await upstream.request('tools/list', cursor === undefined ? {} : { cursor }, { signal });
    if ('error' in answer) throw rejected(name, 'tools/list', answer.error);
    const { tools, nextCursor } = answer.result;
    if (!Array.isArray(tools)) throw tooMuch(name, 'gave no list of tools');
    json += JSON.stringify(tools);
    listed.push(...tools);
    if (json.length > MOST_CHARS || listed.length > MOST_TOOLS)
      throw tooMuch(name, `lists more than ${MOST_TOOLS} tools, or more than 2 MiB of them`);
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return usableOnce(key, json, listed);
    cursor = nextCursor;
  }
  throw tooMuch(name, `lists its tools on more than ${MOST_PAGES} pages`);
}

const lists = new Shelf<ToolList & { readonly json: string }>('tools');

/** Most lists are the list of before, and then so is what is given. */
function usableOnce(key: string, json: string, listed: readonly unknown[]): ToolList {
  const last = lists.get(key);
  if (last?.json === json) return last;
  const list = { json, ...usable(listed) };
  lists.set(key, list, 2 * json.length);
  return list;
}

/** Tools that a client takes: one that it cannot read would cost it the whole list. */
export function usable(listed: readonly unknown[]): ToolList {
  const tools = new Map<string, Tool>();
  const leftOut: string[] = [];
  for (const tool of listed) {
    const name = nameOf(tool);
    if (!isSpecType.Tool(tool))
      leftOut.push(`The tool ${name} is left out, since its definition is not valid.`);
    else if (tools.has(tool.name)) leftOut.push(`A second tool named ${name} is left out.`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], leftOut };
}

function nameOf(tool: unknown): string {
  const { name } = (tool ?? {}) as { name?: unknown };
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 64).toWellFormed()) : 'without a name';
}

function tooMuch(name: string, what: string): RegistryError {
  return new RegistryError(
    'unavailable',
    `The server ${name} ${what}; its last good list stands in where there is one.`,
  );
}
