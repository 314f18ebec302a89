import type { Result, Tool } from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { sameSkills } from '../../schema/riding/active-set.ts';
import { composeTools } from '../../schema/riding/compose.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import type { Caller } from '../mcp/caller.ts';
import { skillsTool } from '../mcp/skills-tool.ts';
import type { GatewayRequest } from './request.ts';
import type { ServerSession } from './session.ts';
import { Shelf } from './shelf.ts';
import { exposed, LOADER } from './shown-tools.ts';

/** Since when a list stands in for one that the server does not give, as an ISO 8601 time. */
const STALE_META_KEY = 'repertoire/staleSince';
/** The same by the names of servers, in the main list. */
const STALE_SERVERS_META_KEY = 'repertoire/staleServers';

/** A list as it was made, with what it was made of. */
interface ShownList {
  readonly mark: string;
  readonly listed: readonly Tool[];
  readonly active: readonly RidingSkill[];
  readonly asksGraph: boolean;
  readonly tools: readonly Tool[];
}

const lists = new Shelf<ShownList>('list');

/** `tools/list`: the server's tools, then the loader, each with what rides on it. */
export async function listShownTools({
  session,
  caller,
}: GatewayRequest): Promise<Result & { tools: readonly Tool[] }> {
  const listed = await session.listed();
  return { tools: await keptList(session, caller, listed.tools), ...staleMeta(listed.staleSince) };
}

/** Most lists are the list of before, and then the answer is the same object. */
async function keptList(
  session: ServerSession,
  caller: Caller,
  listed: readonly Tool[],
): Promise<readonly Tool[]> {
  const { ctx, server, kept } = session;
  const { mark } = server.source;
  const key = ctx.key && JSON.stringify([kept.key, caller.client?.id, ctx.actor.readOnly]);
  const last = key ? lists.get(key) : undefined;
  const same = last?.mark === mark && last.listed === listed;
  if (same && !last.asksGraph) return last.tools;
  const shown = session.shown({ tools: listed });
  const { skills, active } = await session.riding(shown);
  if (same && sameSkills(last.active, active)) return last.tools;
  const { tool: loader } = await skillsTool(ctx, caller, session.listing(caller));
  const { tools, rides } = composed(session, [...shown.tools, loader], active, caller.client);
  const list = { mark, listed, active, asksGraph: session.asksGraph(skills), tools: await exposed(tools) };
  if (key)
    lists.set(
      key,
      list,
      rides.reduce((sum, { length }) => sum + length, JSON.stringify(listed).length),
    );
  return list.tools;
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
