import { and, asc, desc, eq, gt, inArray, isNotNull, lt, lte, type SQL } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/sqlite-core';
import { type FileEntry, type Kind, LIMITS, MAIN_FILE } from '../../schema/item.ts';
import { files, items } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { entriesOf, selectBytes, selectEntries } from './files.ts';

/** Which item: the Skills extension knows one by kind and name together. */
export interface SkillKey {
  readonly kind: Kind;
  readonly name: string;
}

export interface SkillHead extends SkillKey {
  readonly description: string;
  /** Front matter of the main file as JSON. */
  readonly frontMatter: Record<string, unknown>;
}

export interface SkillRow extends SkillHead {
  readonly files: readonly FileEntry[];
  /** Bytes of a persona's main file, which its skill is made from; null for a skill and where they are over 64 KiB. */
  readonly main: Uint8Array | null;
}

interface Page {
  /** The last item of the page before. */
  readonly after?: SkillKey | undefined;
  readonly limit: number;
}

const headColumns = {
  id: items.id,
  kind: items.kind,
  name: items.name,
  description: items.description,
  frontMatter: items.frontMatter,
} as const;

/** One page of the items that the Skills extension can represent: active ones, skills first, each kind by name in byte order. */
export async function listSkillHeads(
  ctx: Context,
  page: Page,
): Promise<{ rows: SkillHead[]; more: boolean }> {
  const [found] = await ctx.batch([selectPage(ctx, page, page.limit + 1)]);
  ctx.require('skills:read');
  return { rows: found.slice(0, page.limit).map(toHead), more: found.length > page.limit };
}

/** As {@link listSkillHeads}, each item with its files. One round trip. */
export async function listSkillRows(ctx: Context, page: Page): Promise<{ rows: SkillRow[]; more: boolean }> {
  const shown = selectPage(ctx, page, page.limit).as('page');
  const ids = ctx.db.select({ id: shown.id }).from(shown);
  const [found, entries, mains] = await ctx.batch([
    selectPage(ctx, page, page.limit + 1),
    selectEntries(ctx, inArray(items.id, ids)),
    selectMains(ctx, inArray(items.id, ids)),
  ]);
  ctx.require('skills:read');
  return {
    rows: found.slice(0, page.limit).map((head) => toRow(head, entries, mains)),
    more: found.length > page.limit,
  };
}

/** One item that the Skills extension can represent, with its files; null when there is none. One round trip. */
export async function getSkillRow(ctx: Context, key: SkillKey): Promise<SkillRow | null> {
  const [found, entries, mains] = await ctx.batch([
    ctx.db.select(headColumns).from(items).where(represented(ctx, key)),
    selectEntries(ctx, represented(ctx, key)),
    selectMains(ctx, represented(ctx, key)),
  ]);
  ctx.require('skills:read');
  const [head] = found;
  return head ? toRow(head, entries, mains) : null;
}

/** The bytes of one file of such an item, exactly as stored; null when there is none. One round trip. */
export async function readSkillFile(ctx: Context, key: SkillKey, path: string): Promise<Uint8Array | null> {
  const [found] = await ctx.batch([selectBytes(ctx, and(represented(ctx, key), eq(files.path, path)))]);
  ctx.require('skills:read');
  return found[0]?.bytes ?? null;
}

function represented(ctx: Context, key?: SkillKey): SQL | undefined {
  return and(
    eq(items.accountId, ctx.account),
    eq(items.state, 'active'),
    isNotNull(items.frontMatter),
    key && eq(items.kind, key.kind),
    key && eq(items.name, key.name),
  );
}

/** Each kind is read by itself, in the order of its index: no page sorts the whole registry. */
function selectPage(ctx: Context, { after }: Page, limit: number) {
  const part = (kind: Kind) => {
    const rest = after && (after.kind === kind ? gt(items.name, after.name) : lt(items.kind, after.kind));
    const first = ctx.db
      .select(headColumns)
      .from(items)
      .where(and(represented(ctx), eq(items.kind, kind), rest))
      .orderBy(asc(items.name))
      .limit(limit)
      .as(kind);
    return ctx.db.select().from(first);
  };
  return unionAll(part('skill'), part('persona')).orderBy(desc(items.kind), asc(items.name)).limit(limit);
}

function selectMains(ctx: Context, which: SQL | undefined) {
  const persona = and(eq(items.kind, 'persona'), eq(files.path, MAIN_FILE.persona));
  return selectBytes(ctx, and(which, persona, lte(files.size, LIMITS.inlineBytes)));
}

type Found = {
  id: string;
  kind: Kind;
  name: string;
  description: string;
  frontMatter: Record<string, unknown> | null;
};

function toHead({ kind, name, description, frontMatter }: Found): SkillHead {
  return { kind, name, description, frontMatter: frontMatter ?? {} };
}

function toRow(
  head: Found,
  entries: readonly (FileEntry & { item: string })[],
  mains: readonly { item: string; bytes: Uint8Array }[],
): SkillRow {
  return {
    ...toHead(head),
    files: entriesOf(head, entries),
    main: mains.find((row) => row.item === head.id)?.bytes ?? null,
  };
}
