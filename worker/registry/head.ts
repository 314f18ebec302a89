import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { type Item, type ItemSummary, Kind, MAIN_FILE } from '../../schema/item.ts';
import { files, items } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { entriesOf, fileColumns, selectBytes, selectEntries } from './files.ts';

/** An item's current state with its files, as read before a write. */
export type Head = Item;

export interface ItemRef {
  /** Without it the name must belong to one kind only. */
  readonly kind?: Kind | undefined;
  readonly name: string;
}

/** Columns that make an `ItemSummary`, for every query that lists items. */
export const summaryColumns = {
  id: items.id,
  kind: items.kind,
  name: items.name,
  description: items.description,
  state: items.state,
  revision: items.revision,
  digest: items.digest,
  flags: items.flags,
  updated_at: items.updatedAt,
} as const;

/** The path of each row's own main file: a skill may well hold a PERSONA.md of its own, and a persona a SKILL.md. */
export const MAIN_FILE_OF_ROW = sql`case ${items.kind} when 'skill' then ${MAIN_FILE.skill} else ${MAIN_FILE.persona} end`;

/**
 * An item with its files and the bytes of its main file, in one round trip.
 * @throws RegistryError `not_found`, `ambiguous_name`
 */
export async function readHead(ctx: Context, ref: ItemRef): Promise<{ head: Head; main: Uint8Array }> {
  const found = await tryReadHead(ctx, ref);
  if (!found) throw notFound(ref);
  return found;
}

/** As {@link readHead}, but null when there is no such item. Removed items are found too. */
export async function tryReadHead(
  ctx: Context,
  ref: ItemRef,
): Promise<{ head: Head; main: Uint8Array } | null> {
  const named = namedItem(ctx, ref);
  const [rows, entries, mains] = await ctx.batch([
    ctx.db.select(summaryColumns).from(items).where(named),
    selectEntries(ctx, named),
    selectBytes(ctx, and(named, eq(files.path, MAIN_FILE_OF_ROW))),
  ]);
  const summary = pick(rows, ref);
  if (!summary) return null;
  const main = mains.find((row) => row.item === summary.id);
  if (!main)
    throw new RegistryError('internal', `The content of ${summary.name} is missing from the registry.`);
  return { head: { ...summary, files: entriesOf(summary, entries) }, main: main.bytes };
}

/** The caller's items that a reference may mean, as a condition: {@link pick} says which of them it is. */
export function namedItem(ctx: Context, { kind, name }: ItemRef): SQL | undefined {
  // Both kinds are named, for the index by name begins with the kind.
  const kinds = kind ? [kind] : Kind.options;
  return and(eq(items.accountId, ctx.account), inArray(items.kind, kinds), eq(items.name, name));
}

/**
 * The one item that is meant, null when there is none. Among a skill and a persona of one name, one that is not removed
 * wins over one that is. @throws RegistryError `ambiguous_name`
 */
export function pick(rows: readonly ItemSummary[], ref: ItemRef): ItemSummary | null {
  const present = rows.filter((row) => row.state !== 'removed');
  if (present.length > 1) {
    throw new RegistryError(
      'ambiguous_name',
      `${ref.name} is both a skill and a persona; say which with kind.`,
      { field: 'kind' },
    );
  }
  return present[0] ?? rows[0] ?? null;
}

export function notFound(ref: ItemRef): RegistryError {
  return new RegistryError(
    'not_found',
    `There is no ${ref.kind ?? 'skill or persona'} named ${ref.name}; list the items to see what there is.`,
  );
}

/** What differs between the revision that a caller knew and the current one: who must merge looks there. */
export async function conflict(ctx: Context, head: Head, expected: number): Promise<RegistryError> {
  const known = await ctx.db
    .select(fileColumns)
    .from(files)
    .where(and(eq(files.itemId, head.id), eq(files.revision, expected)));
  const now = new Map(head.files.map((file) => [file.path, `${file.digest} ${file.executable}`]));
  const then = new Map(known.map((file) => [file.path, `${file.digest} ${file.executable}`]));
  const differs = [...new Set([...now.keys(), ...then.keys()])]
    .filter((path) => now.get(path) !== then.get(path))
    .sort();
  const what =
    differs.length > 0
      ? ` (${differs.length > 3 ? `${differs.length} files differ` : `${differs.join(', ')} differ${differs.length === 1 ? 's' : ''}`})`
      : '';
  return new RegistryError(
    'conflict',
    `${head.name} is at revision ${head.revision}, but this change is based on revision ${expected}${what}; read the current one, apply the change to it and send it again.`,
    { current_revision: head.revision, differs },
  );
}
