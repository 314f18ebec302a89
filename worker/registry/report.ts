import { and, desc, eq, inArray, lt, sql } from 'drizzle-orm';
import type { ReportBody } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Statement } from '../db/client.ts';
import { deviceEvents, devices, folderItems, folderReports } from '../db/tables/devices.ts';
import { accounts } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { parseCursor } from './cursor.ts';

/** Rows per statement, so that a report of thousands stays within the bound variables of one. */
const ROWS = 500;
/** Each folder costs statements of its own; a device has a dozen. */
const FOLDERS = 500;
/** Of each device. Its history shows the last 200. */
const EVENTS_KEPT = 5000;

/**
 * Keeps what a device found on its own disk after a pass: the digests are those that it read back, not those that it
 * was told to write. Repeating a report changes nothing.
 * A cursor of another life of the registry says nothing about this one and is not kept.
 * @throws RegistryError `insufficient_scope` when the caller is no device, `too_large` over 500 folders
 */
export async function saveReport(ctx: Context, report: ReportBody): Promise<void> {
  const actor = await ctx.enter();
  if (actor.type !== 'device')
    throw new RegistryError('insufficient_scope', 'Only a paired device reports what is on its disk.');
  if (report.folders.length > FOLDERS || report.dropped.length > FOLDERS) {
    throw new RegistryError(
      'too_large',
      `The report names ${Math.max(report.folders.length, report.dropped.length)} folders, and ${FOLDERS} is the most.`,
    );
  }
  const deviceId = actor.id;
  const at = ctx.now();
  const { db } = ctx;
  const statements: Statement[] = [
    db
      .update(devices)
      .set({
        lastSeenAt: at,
        agentVersion: report.agent_version,
        ...(report.cursor === null ? {} : { reportedSeq: reached(actor.accountId, report.cursor) }),
      })
      .where(eq(devices.id, deviceId)),
  ];
  for (const part of parts(report.dropped)) {
    statements.push(
      db.delete(folderItems).where(and(eq(folderItems.deviceId, deviceId), inArray(folderItems.path, part))),
      db
        .delete(folderReports)
        .where(and(eq(folderReports.deviceId, deviceId), inArray(folderReports.path, part))),
    );
  }
  for (const { path, kind, clients, state, message = null, items, gone, complete } of report.folders) {
    const here = and(
      eq(folderItems.deviceId, deviceId),
      eq(folderItems.path, path),
      eq(folderItems.kind, kind),
    );
    const folder = { clients, state, message, at };
    statements.push(
      db
        .insert(folderReports)
        .values({ deviceId, path, kind, ...folder })
        .onConflictDoUpdate({
          target: [folderReports.deviceId, folderReports.path, folderReports.kind],
          set: folder,
        }),
    );
    if (complete) statements.push(db.delete(folderItems).where(here));
    else
      for (const part of parts(gone))
        statements.push(db.delete(folderItems).where(and(here, inArray(folderItems.itemId, part))));
    for (const part of parts(items)) {
      statements.push(
        db
          .insert(folderItems)
          .values(
            part.map((item) => ({
              deviceId,
              path,
              kind,
              itemId: item.item,
              name: item.name,
              state: item.state,
              revision: item.revision,
              digest: item.digest,
              message: item.message ?? null,
              at,
            })),
          )
          .onConflictDoUpdate({
            target: [folderItems.deviceId, folderItems.path, folderItems.kind, folderItems.itemId],
            set: {
              name: sql`excluded.name`,
              state: sql`excluded.state`,
              revision: sql`excluded.revision`,
              digest: sql`excluded.digest`,
              message: sql`excluded.message`,
              at,
            },
          }),
      );
    }
  }
  for (const part of parts(report.events)) {
    statements.push(
      db
        .insert(deviceEvents)
        .values(part.map((event) => ({ deviceId, id: event.id, receivedAt: at, itemId: event.item, event })))
        .onConflictDoNothing(),
    );
  }
  if (report.events.length > 0) {
    const mine = eq(deviceEvents.deviceId, deviceId);
    const newest = db
      .select({ at: deviceEvents.receivedAt })
      .from(deviceEvents)
      .where(mine)
      .orderBy(desc(deviceEvents.receivedAt))
      .limit(1)
      .offset(EVENTS_KEPT);
    statements.push(db.delete(deviceEvents).where(and(mine, lt(deviceEvents.receivedAt, sql`(${newest})`))));
  }
  await ctx.write(statements as [Statement]);
}

/** The number of a cursor where the registry has come that far in this life, else what is known already. */
function reached(accountId: string, cursor: string) {
  const { epoch, seq } = parseCursor(cursor);
  return sql`(select case when ${accounts.epoch} = ${epoch} and ${accounts.seq} >= ${seq} then ${seq} else ${devices.reportedSeq} end from ${accounts} where ${accounts.id} = ${accountId})`;
}

function parts<T>(rows: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, i) =>
    rows.slice(i * ROWS, (i + 1) * ROWS),
  );
}
