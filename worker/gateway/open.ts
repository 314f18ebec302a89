import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import type { Listener, Listing } from '../registry/listing.ts';
import { type OpenedServer, openListedServer, openServer } from '../registry/riding-source.ts';
import { readManifest } from '../registry/servers.ts';
import { keptOf } from './kept.ts';
import { createOutbound } from './outbound.ts';
import { ServerSession } from './session.ts';
import { targetOf } from './target.ts';

type Ways = Pick<Deps, 'servers' | 'outbound'>;

/** A server of the caller's, ready to be spoken to. Needs `skills:read`. @throws RegistryError `not_found` */
export async function openSession(ctx: Context, deps: Ways, name: string): Promise<ServerSession> {
  return sessionOf(ctx, deps, await openServer(ctx, name));
}

/** As {@link openSession}, with what the caller is told of the account's items. */
export async function openListedSession(
  ctx: Context,
  deps: Ways,
  name: string,
  listener: Listener,
): Promise<{ session: ServerSession; listing: Listing }> {
  const { server, listing } = await openListedServer(ctx, name, listener);
  return { session: sessionOf(ctx, deps, server), listing };
}

/** `deadline`: milliseconds in which it has to list its tools. */
export function sessionOf(
  ctx: Context,
  { servers, outbound }: Ways,
  server: OpenedServer,
  deadline?: number,
): ServerSession {
  const kept = keptOf(server);
  kept.manifest ??= readManifest(server.manifest);
  let target: ReturnType<typeof targetOf> | null = null;
  return new ServerSession(ctx, server, {
    manifest: kept.manifest,
    target() {
      target ??= targetOf(ctx, server, { vault: servers.vault, fetch: createOutbound(outbound, servers) });
      return target;
    },
    ...(deadline === undefined ? {} : { deadline }),
  });
}
