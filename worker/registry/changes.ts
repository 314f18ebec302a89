import { and, eq, gt, lte, sql } from 'drizzle-orm';
import type { ChangedItem, ChangesPage } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { LIMITS } from '../../schema/item.ts';
import { accounts, blobs, files, items } from '../db/tables/registry.ts';
import { encodeContent } from './blobs.ts';
import type { Context } from './context.ts';
import { formatCursor, parseCursor } from './cursor.ts';
import { fileColumns } from './files.ts';
import { summaryColumns } from './head.ts';

const PAGE_ITEMS = 500;
/** Raw bytes aimed at per page; what JSON makes of them is measured below. */
const PAGE_BYTES = LIMITS.changesPageBytes / 2;

/**
 * The registry since a cursor: every item that changed, once, as it is now, in the order of its last change, tombstones
 * included. Guarantees: following the cursors to the end of the feed gives the registry's whole state; an item that is
 * absent from a page is unchanged, never gone; a page is at most 2 MiB and makes progress; one round trip.
 * The feed reads heads, so no cursor is ever too old: `start_over` marks the first page for a caller without one.
 * @throws RegistryError `registry_rewound` for a cursor of another epoch or ahead of the registry
 */
export async function changesSince(ctx: Context, since: string | null): Promise<ChangesPage> {
  const from = since === null ? null : parseCursor(since);
  const after = from?.seq ?? 0;
  const changed = and(eq(items.accountId, ctx.account), gt(items.seq, after));
  const page = sql`(select max(seq) from (
    select ${items.seq} as seq, row_number() over (order by ${items.seq}) as place,
      sum(case ${items.state} when 'removed' then 0 else ${items.inlineBytes} end) over (order by ${items.seq}) as total
    from ${items} where ${changed} limit ${PAGE_ITEMS}
  ) where place = 1 or total <= ${PAGE_BYTES})`;
  const inPage = and(changed, lte(items.seq, page));
  const [[account], heads, entries] = await ctx.batch([
    ctx.db.select().from(accounts).where(eq(accounts.id, ctx.account)),
    ctx.db
      .select({ ...summaryColumns, seq: items.seq })
      .from(items)
      .where(inPage)
      .orderBy(items.seq),
    ctx.db
      .select({
        item: items.id,
        ...fileColumns,
        bytes: blobs.bytes,
      })
      .from(items)
      .innerJoin(files, and(eq(files.itemId, items.id), eq(files.revision, items.revision)))
      .leftJoin(
        blobs,
        and(
          eq(blobs.accountId, items.accountId),
          eq(blobs.digest, files.digest),
          lte(files.size, LIMITS.inlineBytes),
        ),
      )
      .where(and(inPage, sql`${items.state} <> 'removed'`))
      .orderBy(items.seq, files.path),
  ]);
  ctx.require('skills:read');
  if (!account) throw new RegistryError('internal', 'The account is missing.');
  if (from && (from.epoch !== account.epoch || from.seq > account.seq)) {
    throw new RegistryError(
      'registry_rewound',
      `The registry is at ${formatCursor(account)} and does not know ${since}: it went back in time, perhaps by a restored backup.`,
      { cursor: formatCursor(account) },
    );
  }

  const byItem = Map.groupBy(entries, (entry) => entry.item);
  const shown: ChangedItem[] = [];
  let room: number = LIMITS.changesPageBytes;
  let last = after;
  for (const { seq, ...head } of heads) {
    const item: ChangedItem = { ...head, files: [] };
    let cost = JSON.stringify(item).length;
    for (const { item: _, bytes, ...entry } of byItem.get(head.id) ?? []) {
      const inline = bytes ? encodeContent(bytes) : {};
      const size = JSON.stringify({ ...entry, ...inline }).length;
      const fits = shown.length > 0 || cost + size <= room;
      item.files.push(fits ? { ...entry, ...inline } : entry);
      cost += fits ? size : JSON.stringify(entry).length;
    }
    if (shown.length > 0 && cost > room) break;
    shown.push(item);
    room -= cost;
    last = seq;
  }
  const more =
    shown.length < heads.length || (heads.length > 0 && last < account.seq && (await isMore(ctx, last)));
  const { guidelines: text, guidelinesAt: updated_at } = account;
  return {
    cursor: formatCursor({ epoch: account.epoch, seq: more ? last : account.seq }),
    start_over: from === null,
    more,
    items: shown,
    ...(account.guidelinesSeq > after ? { guidelines: { text, updated_at } } : {}),
  };
}

/** Whether an item changed after `seq`. Asked only where a page ended before the head, which a guidelines change also causes. */
async function isMore(ctx: Context, seq: number): Promise<boolean> {
  const [row] = await ctx.db
    .select({ seq: items.seq })
    .from(items)
    .where(and(eq(items.accountId, ctx.account), gt(items.seq, seq)))
    .limit(1);
  return row !== undefined;
}
