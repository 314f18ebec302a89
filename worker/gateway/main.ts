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
import { unlessDown } from './upstream-error.ts';

/** One slow server must not keep the main list waiting: its last one stands in. */
const DEADLINE_MS = 4000;

/**
 * The servers whose tools are in the main list, by name. One round trip, and nothing is asked of them yet. One whose
 * manifest cannot be read any more is left out: its own address says why.
 */
export async function openMainSessions(
  ctx: Context,
  deps: Pick<Deps, 'servers' | 'outbound'>,
): Promise<ServerSession[]> {
  const servers = await openMainServers(ctx);
  return servers.flatMap((server) => {
    try {
      return [sessionOf(ctx, deps, server, { deadline: DEADLINE_MS })];
    } catch (error) {
      if (error instanceof RegistryError) return [];
      throw error;
    }
  });
}

/** Tools of servers in the main list. */
interface MainTools {
  readonly tools: readonly Tool[];
  /** When a server listed them, milliseconds, by the name of each that does not answer now. */
  readonly stale: Readonly<Record<string, number>>;
}

/** Their tools under prefixed names, each with what rides on it. A server that never answered is left out. */
export async function listMainTools(
  sessions: readonly ServerSession[],
  client: ClientRow | null,
): Promise<MainTools> {
  const lists = await Promise.all(sessions.map((session) => unlessDown(prefixedTools(session, client))));
  return {
    tools: lists.flatMap((list) => list?.tools ?? []),
    stale: Object.assign({}, ...lists.map((list) => list?.stale)),
  };
}

/** The server that a prefixed name is of, and the name shown of its tool there. */
export async function findMainTool(
  sessions: readonly ServerSession[],
  name: string,
): Promise<{ session: ServerSession; tool: string } | null> {
  // No server's name holds `_`, so that no other is waited for.
  const session = sessions.find(({ server }) => name.startsWith(`${server.name}_`));
  const known = session && (await unlessDown(session.known()));
  if (!known) return null;
  const shown = session.shown(known).tools.map((each) => each.name);
  const tool = shown[(await prefixed(session, shown)).indexOf(name)];
  return tool === undefined ? null : { session, tool };
}

/** A page of a method that rides on their tools; null when none of them has it. */
export async function loadFromMain(
  sessions: readonly ServerSession[],
  name: string,
  start: number | undefined,
): Promise<string | null> {
  const pages = await Promise.all(
    sessions.map(async (session) => {
      const known = await unlessDown(session.known());
      if (!known) return null;
      const { active } = await session.riding(session.shown(known));
      const loaded = loadSkill(active, name, start);
      return loaded.isError ? null : loaded.text;
    }),
  );
  return pages.find((page) => page !== null) ?? null;
}

async function prefixedTools(session: ServerSession, client: ClientRow | null): Promise<MainTools> {
  const listed = await session.listed();
  const shown = session.shown(listed);
  const { active } = await session.riding(shown);
  const { tools } = composed(session, [...shown.tools], active, client);
  const names = await prefixed(
    session,
    tools.map(({ name }) => name),
  );
  return {
    tools: tools.map((tool, index) => ({ ...tool, name: names[index] ?? tool.name })),
    stale: listed.staleSince === null ? {} : { [session.server.name]: listed.staleSince },
  };
}

function prefixed({ server }: ServerSession, tools: readonly string[]): Promise<string[]> {
  return exposeNames(tools.map((tool) => ({ server: server.name, tool })));
}
