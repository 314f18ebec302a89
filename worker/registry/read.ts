import { and, desc, eq, ne } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { type FileEntry, type Item, type ItemSummary, type Kind, MAIN_FILE } from '../../schema/item.ts';
import { files, items } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { entriesOf, selectBytes, selectEntries } from './files.ts';
import { type ItemRef, MAIN_FILE_OF_ROW, namedItem, notFound, pick, summaryColumns } from './head.ts';

/** Every item, skills first, each kind by name in byte order; removed ones only on request. */
export async function listItems(
  ctx: Context,
  { kind, removed = false }: { kind?: Kind | undefined; removed?: boolean },
): Promise<ItemSummary[]> {
  const [rows] = await ctx.batch([
    ctx.db
      .select(summaryColumns)
      .from(items)
      .where(
        and(
          eq(items.accountId, ctx.account),
          kind && eq(items.kind, kind),
          removed ? undefined : ne(items.state, 'removed'),
        ),
      )
      .orderBy(desc(items.kind), items.name),
  ]);
  ctx.require('skills:read');
  return rows;
}

/** An item with the entries of its files. Removed items are found too. */
export async function getItem(ctx: Context, ref: ItemRef): Promise<Item> {
  const named = namedItem(ctx, ref);
  const [rows, entries] = await ctx.batch([
    ctx.db.select(summaryColumns).from(items).where(named),
    selectEntries(ctx, named),
  ]);
  ctx.require('skills:read');
  const summary = pick(rows, ref);
  if (!summary) throw notFound(ref);
  return { ...summary, files: entriesOf(summary, entries) };
}

export interface StoredFile {
  readonly item: Item;
  readonly entry: FileEntry;
  readonly bytes: Uint8Array;
}

/** One file of an item's current revision, by default its main file, byte for byte. One round trip. */
export async function getFile(ctx: Context, ref: ItemRef, path?: string): Promise<StoredFile> {
  const named = namedItem(ctx, ref);
  const [rows, entries, found] = await ctx.batch([
    ctx.db.select(summaryColumns).from(items).where(named),
    selectEntries(ctx, named),
    selectBytes(ctx, and(named, eq(files.path, path ?? MAIN_FILE_OF_ROW))),
  ]);
  ctx.require('skills:read');
  const summary = pick(rows, ref);
  if (!summary) throw notFound(ref);
  const item = { ...summary, files: entriesOf(summary, entries) };
  const wanted = path ?? MAIN_FILE[item.kind];
  const entry = item.files.find((file) => file.path === wanted);
  const bytes = found.find((row) => row.item === item.id)?.bytes;
  if (!entry || !bytes) {
    throw new RegistryError(
      'not_found',
      `The ${item.kind} ${item.name} has no file ${wanted}; get the item to see its files.`,
      { path: wanted },
    );
  }
  return { item, entry, bytes };
}
