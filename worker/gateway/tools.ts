import type { Result, Tool } from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { composeTools } from '../../schema/riding/compose.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import { skillsTool } from '../mcp/skills-tool.ts';
import type { GatewayRequest } from './server.ts';
import type { ServerSession } from './session.ts';
import { exposed, LOADER } from './shown-tools.ts';

/** Since when a list stands in for one that the server does not give, as an ISO 8601 time. */
const STALE_META_KEY = 'repertoire/staleSince';
/** The same by the names of servers, in the main list. */
const STALE_SERVERS_META_KEY = 'repertoire/staleServers';

/** `tools/list`: the server's tools, then the loader, each with what rides on it. */
export async function listShownTools({ session, caller, listing }: GatewayRequest): Promise<Result> {
  const [listed, loader] = await Promise.all([
    session.listed(),
    skillsTool(session.ctx, caller, listing ?? null),
  ]);
  const shown = session.shown(listed);
  const { active } = await session.riding(shown);
  const { tools } = composed(session, [...shown.tools, loader.tool], active, caller.client);
  return { tools: await exposed(tools), ...staleMeta(listed.staleSince) };
}

/** Tools with what rides on them for one client. */
export function composed(
  { manifest }: Pick<ServerSession, 'manifest'>,
  tools: readonly Tool[],
  active: Parameters<typeof composeTools>[0]['active'],
  client: ClientRow | null,
) {
  return composeTools({
    tools,
    active,
    delivery: manifest.delivery,
    cap: descriptionCap(client),
    loader: LOADER,
    ...(client ? { client: client.title } : {}),
  });
}

function staleMeta(since: number | null): { _meta?: Record<string, unknown> } {
  return since === null ? {} : { _meta: { [STALE_META_KEY]: isoTime(since) } };
}

/** Marks what is stale in the main list. */
export function staleServersMeta(stale: Readonly<Record<string, number>>): {
  _meta?: Record<string, unknown>;
} {
  const marked = Object.entries(stale).map(([name, since]) => [name, isoTime(since)]);
  return marked.length === 0 ? {} : { _meta: { [STALE_SERVERS_META_KEY]: Object.fromEntries(marked) } };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
