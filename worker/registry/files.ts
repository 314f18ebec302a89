import { and, eq, type SQL } from 'drizzle-orm';
import type { FileEntry } from '../../schema/item.ts';
import { blobs, files, items } from '../db/tables/registry.ts';
import type { Context } from './context.ts';

/** Columns that make a `FileEntry`. */
export const fileColumns = {
  path: files.path,
  digest: files.digest,
  size: files.size,
  executable: files.executable,
} as const;

interface EntryRow extends FileEntry {
  readonly item: string;
}

/** Entries of the current files of the items that `which` selects, by path; {@link entriesOf} picks those of one item. */
export function selectEntries(ctx: Context, which: SQL | undefined) {
  return ctx.db
    .select({ item: items.id, ...fileColumns })
    .from(items)
    .innerJoin(files, and(eq(files.itemId, items.id), eq(files.revision, items.revision)))
    .where(which)
    .orderBy(files.path);
}

/** Bytes of the current files that `which` selects, each with the id of its item. */
export function selectBytes(ctx: Context, which: SQL | undefined) {
  return ctx.db
    .select({ item: items.id, bytes: blobs.bytes })
    .from(items)
    .innerJoin(files, and(eq(files.itemId, items.id), eq(files.revision, items.revision)))
    .innerJoin(blobs, and(eq(blobs.accountId, items.accountId), eq(blobs.digest, files.digest)))
    .where(which);
}

export function entriesOf({ id }: { readonly id: string }, rows: readonly EntryRow[]): FileEntry[] {
  return rows.flatMap(({ item, ...entry }) => (item === id ? [entry] : []));
}
