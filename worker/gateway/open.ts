import type { Deps } from '../deps.ts';
import type { Context } from '../registry/context.ts';
import { openServer } from '../registry/riding-source.ts';
import { readManifest } from '../registry/servers.ts';
import { createOutbound } from './outbound.ts';
import { ServerSession } from './session.ts';
import { targetOf } from './target.ts';

/** A server of the caller's, ready to be spoken to. Needs `skills:read`. @throws RegistryError `not_found` */
export async function openSession(
  ctx: Context,
  { servers, outbound }: Pick<Deps, 'servers' | 'outbound'>,
  name: string,
): Promise<ServerSession> {
  const server = await openServer(ctx, name);
  const target = await targetOf(server, servers.vault, createOutbound(outbound, servers));
  return new ServerSession(ctx, server, { manifest: readManifest(server.manifest), target });
}
