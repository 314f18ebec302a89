import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import { type OpenedServer, openServer, type RidingSource } from '../registry/riding-source.ts';
import { readManifest } from '../registry/servers.ts';
import { keptOf } from './kept.ts';
import { createOutbound } from './outbound.ts';
import { ServerSession } from './session.ts';
import { Shelf } from './shelf.ts';
import { targetOf } from './target.ts';

type Ways = Pick<Deps, 'servers' | 'outbound'>;

const sources = new Shelf<RidingSource>('source');

/**
 * A server of the caller's, ready to be spoken to. `tells`: with what the caller is told of the account's items. Needs
 * `skills:read`. @throws RegistryError `not_found`
 */
export async function openSession(
  ctx: Context,
  deps: Ways,
  name: string,
  { tells }: { tells: boolean } = { tells: false },
): Promise<ServerSession> {
  const key = ctx.key && `${ctx.key} ${name}`;
  const held = (key && sources.get(key)) || null;
  const server = await openServer(ctx, name, { tells, held });
  if (key && server.source !== held) sources.set(key, server.source, JSON.stringify(server.source).length);
  return sessionOf(ctx, deps, server);
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
