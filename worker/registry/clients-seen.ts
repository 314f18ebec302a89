import { and, desc, eq, lt, sql } from 'drizzle-orm';
import type { ClientSeen } from '../../schema/api.ts';
import { clientsSeen } from '../db/tables/devices.ts';
import type { Context } from './context.ts';

/** Of each account. A client that calls itself something else each time must not fill the table. */
const KEPT = 500;

/** Notes that an MCP client opened a session. Deferred by the caller: no handshake waits for it. */
export async function noteClient(
  ctx: Context,
  { name, version }: { name: string; version: string },
): Promise<void> {
  const at = ctx.now();
  const { accountId, type, id } = ctx.actor;
  const mine = eq(clientsSeen.accountId, accountId);
  const oldestKept = ctx.db
    .select({ at: clientsSeen.lastSeenAt })
    .from(clientsSeen)
    .where(mine)
    .orderBy(desc(clientsSeen.lastSeenAt))
    .limit(1)
    .offset(KEPT - 1);
  await ctx.batch([
    ctx.db
      .insert(clientsSeen)
      .values({
        accountId,
        deviceId: type === 'device' ? id : '',
        name,
        version,
        firstSeenAt: at,
        lastSeenAt: at,
      })
      .onConflictDoUpdate({
        target: [clientsSeen.accountId, clientsSeen.deviceId, clientsSeen.name, clientsSeen.version],
        set: { lastSeenAt: at },
        setWhere: sql`${clientsSeen.lastSeenAt} < ${at - 60_000}`,
      }),
    ctx.db.delete(clientsSeen).where(and(mine, lt(clientsSeen.lastSeenAt, sql`(${oldestKept})`))),
  ]);
}

/** MCP clients that opened a session, last seen first. */
export async function listClientsSeen(ctx: Context): Promise<ClientSeen[]> {
  const [rows] = await ctx.batch([
    ctx.db
      .select()
      .from(clientsSeen)
      .where(eq(clientsSeen.accountId, ctx.account))
      .orderBy(desc(clientsSeen.lastSeenAt))
      .limit(KEPT),
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
