import type { Tool } from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { RegistryError } from '../../schema/errors.ts';
import { loadSkill } from '../../schema/riding/load.ts';
import { exposeNames } from '../../schema/riding/names.ts';
import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import { openMainServers } from '../registry/riding-source.ts';
import { sessionOf } from './open.ts';
import type { ServerSession } from './session.ts';
import { composed } from './tools.ts';

/** One slow server must not keep the main list waiting: its last one stands in. */
const DEADLINE_MS = 4000;

/** The servers whose tools are in the main list, by name. One round trip, and nothing is asked of them yet. */
export async function openMainSessions(
  ctx: Context,
  deps: Pick<Deps, 'servers' | 'outbound'>,
): Promise<ServerSession[]> {
  const servers = await openMainServers(ctx);
  return Promise.all(servers.map((server) => sessionOf(ctx, deps, server, DEADLINE_MS)));
}

/** Their tools under prefixed names, each with what rides on it. A server that never answered is left out. */
export async function listMainTools(
  sessions: readonly ServerSession[],
  client: ClientRow | null,
): Promise<Tool[]> {
  const lists = await Promise.all(sessions.map((session) => prefixedTools(session, client)));
  return lists.flat();
}

/** The server that a prefixed name is of, and the name of its tool there. */
export async function findMainTool(
  sessions: readonly ServerSession[],
  name: string,
): Promise<{ session: ServerSession; tool: string } | null> {
  for (const session of sessions) {
    const tools = await knownNames(session);
    const names = await prefixed(session, tools);
    const tool = tools[names.indexOf(name)];
    if (tool !== undefined) return { session, tool };
  }
  return null;
}

/** A page of a method that rides on their tools; null when none of them has it. */
export async function loadFromMain(
  sessions: readonly ServerSession[],
  name: string,
  start: number | undefined,
): Promise<string | null> {
  for (const session of sessions) {
    const shown = await session.shown(await session.known()).catch(unlessUnavailable);
    if (!shown) continue;
    const { active } = await session.riding(shown);
    const loaded = loadSkill(active, name, start);
    if (!loaded.isError) return loaded.text;
  }
  return null;
}

async function prefixedTools(session: ServerSession, client: ClientRow | null): Promise<Tool[]> {
  try {
    const shown = await session.shown(await session.listed());
    const { active } = await session.riding(shown);
    const { tools } = composed(session, [...shown.tools], active, client);
    const names = await prefixed(
      session,
      tools.map(({ name }) => name),
    );
    return tools.map((tool, index) => ({ ...tool, name: names[index] ?? tool.name }));
  } catch (error) {
    return unlessUnavailable(error) ?? [];
  }
}

async function knownNames(session: ServerSession): Promise<string[]> {
  const known = await session.known().catch(unlessUnavailable);
  return known ? (await session.shown(known)).tools.map(({ name }) => name) : [];
}

function prefixed({ server }: ServerSession, tools: readonly string[]): Promise<string[]> {
  return exposeNames(tools.map((tool) => ({ server: server.name, tool })));
}

function unlessUnavailable(error: unknown): null {
  if (error instanceof RegistryError && error.code === 'unavailable') return null;
  throw error;
}
