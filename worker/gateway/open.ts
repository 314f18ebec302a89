import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import { type OpenedServer, openServer } from '../registry/riding-source.ts';
import { readManifest } from '../registry/servers.ts';
import { type Ahead, askAhead, TRUSTED_MS } from './ahead.ts';
import { keptOf } from './kept.ts';
import { createOutbound } from './outbound.ts';
import { ServerSession } from './session.ts';
import { Shelf } from './shelf.ts';
import { targetOf } from './target.ts';
import type { ToolList } from './tool-list.ts';
import type { Target } from './upstream.ts';

type Ways = Pick<Deps, 'servers' | 'outbound'>;

/** How a caller found a server the last time. */
interface Found {
  readonly server: OpenedServer;
  readonly callerId: string;
  readonly at: number;
  readonly chars: number;
}

const found = new Shelf<Found>('found');

/**
 * A server of the caller's, ready to be spoken to. `tells`: with what the caller is told of the account's items; `lists`:
 * to be asked for its tools. Needs `skills:read`. @throws RegistryError `not_found`
 */
export async function openSession(
  ctx: Context,
  deps: Ways,
  name: string,
  { tells, lists }: { tells: boolean; lists: boolean } = { tells: false, lists: false },
): Promise<ServerSession> {
  const key = ctx.key && `${ctx.key} ${name}`;
  const last = key ? found.get(key) : undefined;
  const ahead = lists && last && ctx.now() - last.at < TRUSTED_MS ? listAhead(ctx, deps, last) : null;
  const held = last?.server.source ?? null;
  let server: OpenedServer;
  try {
    server = await openServer(ctx, name, { tells, held });
  } catch (error) {
    ahead?.drop();
    throw error;
  }
  if (key) {
    const chars = last && server.source === held ? last.chars : JSON.stringify(server.source).length;
    found.set(key, { server, callerId: ctx.actor.id, at: ctx.now(), chars }, chars);
  }
  return sessionOf(ctx, deps, server, { ahead: ahead?.from(server) ?? null });
}

function listAhead(ctx: Context, deps: Ways, { server, callerId }: Found): Ahead | null {
  return askAhead(server, { callerId, target: targetOnce(ctx, deps, server) });
}

/** `deadline`: milliseconds in which it has to list its tools. */
export function sessionOf(
  ctx: Context,
  deps: Ways,
  server: OpenedServer,
  options: { deadline?: number; ahead?: Promise<ToolList> | null } = {},
): ServerSession {
  const kept = keptOf(server);
  kept.manifest ??= readManifest(server.manifest);
  const target = targetOnce(ctx, deps, server);
  return new ServerSession(ctx, server, { manifest: kept.manifest, target, ...options });
}

function targetOnce(ctx: Context, { servers, outbound }: Ways, server: OpenedServer): () => Promise<Target> {
  let target: Promise<Target> | null = null;
  return () => {
    target ??= targetOf(ctx, server, { vault: servers.vault, fetch: createOutbound(outbound, servers) });
    return target;
  };
}
