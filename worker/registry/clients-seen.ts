import { desc, eq, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { ClientSeen } from '../../schema/api.ts';
import { clientsSeen } from '../db/tables.ts';
import type { Context } from './context.ts';

/** Notes that an MCP client opened a session. Deferred by the caller: no handshake waits for it. */
export async function noteClient(
  ctx: Context,
  { name, version }: { name: string; version: string },
): Promise<void> {
  const at = ctx.now();
  await ctx.db
    .insert(clientsSeen)
    .values({
      accountId: ctx.actor.accountId,
      deviceId: ctx.actor.type === 'device' ? ctx.actor.id : '',
      name: name.slice(0, 200),
      version: version.slice(0, 100),
      firstSeenAt: at,
      lastSeenAt: at,
    })
    .onConflictDoUpdate({
      target: [clientsSeen.accountId, clientsSeen.deviceId, clientsSeen.name, clientsSeen.version],
      set: { lastSeenAt: at },
      setWhere: sql`${clientsSeen.lastSeenAt} < ${at - 60_000}`,
    });
}

/** MCP clients that opened a session, last seen first. */
export async function listClientsSeen(ctx: Context): Promise<z.infer<typeof ClientSeen>[]> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(clientsSeen)
      .where(eq(clientsSeen.accountId, ctx.account))
      .orderBy(desc(clientsSeen.lastSeenAt))
      .limit(500),
  ]);
  ctx.require('skills:read');
  return rows.map(({ name, version, deviceId, firstSeenAt, lastSeenAt }) => ({
    name,
    version,
    device: deviceId === '' ? null : deviceId,
    first_seen_at: firstSeenAt,
    last_seen_at: lastSeenAt,
  }));
}
