import { and, desc, eq, getTableColumns } from 'drizzle-orm';
import type { Change, DeviceHistory, ItemHistory } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { deviceEvents, devices, folderItems } from '../db/tables/devices.ts';
import { changes, files, items, revisions } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { type ItemRef, namedItem, notFound, pick, summaryColumns } from './head.ts';

const LISTED = 200;

/**
 * An item's revisions, what was done to it by whom, and what each device has of it, newest first. Needs `skills:read`.
 * @throws RegistryError `not_found`, `ambiguous_name`
 */
export async function itemHistory(ctx: Context, ref: ItemRef): Promise<ItemHistory> {
  const named = namedItem(ctx, ref);
  const [rows, revisionRows, fileRows, changeRows, deviceRows] = await ctx.batch([
    ctx.db.select(summaryColumns).from(items).where(named),
    ctx.db
      .select(getTableColumns(revisions))
      .from(items)
      .innerJoin(revisions, eq(revisions.itemId, items.id))
      .where(named)
      .orderBy(desc(revisions.revision)),
    ctx.db
      .select(getTableColumns(files))
      .from(items)
      .innerJoin(files, eq(files.itemId, items.id))
      .where(named)
      .orderBy(files.path),
    ctx.db
      .select(getTableColumns(changes))
      .from(items)
      .innerJoin(changes, eq(changes.itemId, items.id))
      .where(named)
      .orderBy(desc(changes.seq)),
    ctx.db
      .select({ ...getTableColumns(folderItems), deviceName: devices.name })
      .from(items)
      .innerJoin(folderItems, eq(folderItems.itemId, items.id))
      .innerJoin(devices, and(eq(devices.id, folderItems.deviceId), eq(devices.accountId, items.accountId)))
      .where(named)
      .orderBy(devices.name, folderItems.path),
  ]);
  ctx.require('skills:read');
  const item = pick(rows, ref);
  if (!item) throw notFound(ref);
  const filesOf = Map.groupBy(
    fileRows.filter((file) => file.itemId === item.id),
    (file) => file.revision,
  );
  return {
    item,
    revisions: revisionRows
      .filter((row) => row.itemId === item.id)
      .map(({ revision, parent, digest, name, description, author, madeAt }) => ({
        revision,
        parent,
        digest,
        name,
        description,
        author,
        made_at: madeAt,
        files: (filesOf.get(revision) ?? []).map(({ path, digest, size, executable }) => ({
          path,
          digest,
          size,
          executable,
        })),
      })),
    changes: changeRows.filter((row) => row.itemId === item.id).map(toChange),
    devices: deviceRows
      .filter((row) => row.itemId === item.id)
      .map(({ deviceId, deviceName, revision, state, path, at }) => ({
        device: deviceId,
        device_name: deviceName,
        revision,
        state,
        path,
        at,
      })),
  };
}

/**
 * What a device did to its disk, the newest 200 events, newest first by the registry's clock. Needs `skills:read`.
 * @throws RegistryError `not_found`
 */
export async function deviceHistory(ctx: Context, id: string): Promise<DeviceHistory> {
  const mine = and(eq(devices.accountId, ctx.account), eq(devices.id, id));
  const [[device], rows] = await ctx.batch([
    ctx.db.select({ id: devices.id }).from(devices).where(mine),
    ctx.db
      .select({ event: deviceEvents.event })
      .from(devices)
      .innerJoin(deviceEvents, eq(deviceEvents.deviceId, devices.id))
      .where(mine)
      .orderBy(desc(deviceEvents.receivedAt), desc(deviceEvents.id))
      .limit(LISTED),
  ]);
  ctx.require('skills:read');
  if (!device)
    throw new RegistryError('not_found', `There is no device ${id}; list the devices to see their ids.`);
  return { device: id, events: rows.map((row) => row.event) };
}

function toChange({ seq, at, type, kind, name, revision, author }: typeof changes.$inferSelect): Change {
  return { seq, at, type, kind, name, revision, author };
}
