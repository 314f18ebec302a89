import { and, count, eq, isNull, notInArray, sql } from 'drizzle-orm';
import type { Device, DeviceList } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { devices, deviceTokens, folderItems, folderReports } from '../db/tables/devices.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { formatCursor, selectPosition } from './cursor.ts';

/** States that are as wished: everything else is an exception that a person should see. */
export const AS_WISHED = ['written', 'adopted'] as const;

/** Every device, with what its last report found on its disk. `online` is for the push room to fill in. */
export async function listDevices(ctx: Context): Promise<DeviceList> {
  const mine = eq(devices.accountId, ctx.account);
  const [[account], deviceRows, folders, counts, exceptions] = await ctx.batch([
    selectPosition(ctx),
    ctx.db.select().from(devices).where(mine).orderBy(devices.pairedAt),
    ctx.db
      .select({ report: folderReports })
      .from(devices)
      .innerJoin(folderReports, eq(folderReports.deviceId, devices.id))
      .where(mine)
      .orderBy(folderReports.path),
    ctx.db
      .select({
        device: folderItems.deviceId,
        path: folderItems.path,
        kind: folderItems.kind,
        state: folderItems.state,
        n: count(),
      })
      .from(devices)
      .innerJoin(folderItems, eq(folderItems.deviceId, devices.id))
      .where(mine)
      .groupBy(folderItems.deviceId, folderItems.path, folderItems.kind, folderItems.state),
    ctx.db
      .select({ item: folderItems })
      .from(devices)
      .innerJoin(folderItems, eq(folderItems.deviceId, devices.id))
      .where(and(mine, notInArray(folderItems.state, [...AS_WISHED])))
      .orderBy(folderItems.name),
  ]);
  ctx.require('skills:read');
  if (!account) throw new RegistryError('internal', 'The account is missing.');
  const list = deviceRows.map(
    (row): Device => ({
      id: row.id,
      name: row.name,
      platform: row.platform,
      paired_at: row.pairedAt,
      last_seen_at: row.lastSeenAt,
      revoked_at: row.revokedAt,
      online: false,
      cursor: row.reportedSeq === null ? null : formatCursor({ epoch: account.epoch, seq: row.reportedSeq }),
      folders: folders
        .filter(({ report }) => report.deviceId === row.id)
        .map(({ report: { path, kind, clients, state, message, at } }) => ({
          path,
          kind,
          clients,
          state,
          ...(message === null ? {} : { message }),
          at,
          counts: Object.fromEntries(
            counts
              .filter((c) => c.device === row.id && c.path === path && c.kind === kind)
              .map((c) => [c.state, c.n]),
          ),
        })),
      exceptions: exceptions
        .filter(({ item }) => item.deviceId === row.id)
        .map(({ item: { itemId, kind, name, state, revision, digest, message, path } }) => ({
          item: itemId,
          kind,
          name,
          state,
          revision,
          digest,
          path,
          ...(message === null ? {} : { message }),
        })),
    }),
  );
  return { devices: list, cursor: formatCursor(account) };
}

/**
 * Ends a device's access at once: its tokens go, its next proof is refused, its socket is closed. Its files stay on it.
 * A device may revoke itself; others need `devices:write`.
 */
export async function revokeDevice(ctx: Context, id: string): Promise<void> {
  const named = and(eq(devices.accountId, ctx.account), eq(devices.id, id));
  const [[device]] = await ctx.batch([ctx.db.select({ name: devices.name }).from(devices).where(named)]);
  const { type, id: caller, accountId } = ctx.actor;
  if (!(type === 'device' && caller === id)) ctx.require('devices:write');
  if (!device)
    throw new RegistryError('not_found', `There is no device ${id}; list the devices to see their ids.`);
  const at = ctx.now();
  const paired = and(eq(devices.id, id), isNull(devices.revokedAt));
  await ctx.write([
    eventStatement(ctx.db, {
      accountId,
      at,
      type: 'device_revoked',
      details: { name: device.name },
      when: sql`exists (select 1 from ${devices} where ${paired})`,
    }),
    ctx.db.update(devices).set({ revokedAt: at }).where(paired),
    ctx.db.delete(deviceTokens).where(eq(deviceTokens.deviceId, id)),
  ]);
  await ctx.notify({ revoked: id });
}
