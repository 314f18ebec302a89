import { and, eq, ne, sql } from 'drizzle-orm';
import type { SearchHit } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Kind } from '../../schema/item.ts';
import { search } from '../db/search.ts';
import { items } from '../db/tables/registry.ts';
import type { Context } from './context.ts';
import { summaryColumns } from './head.ts';

const HITS = 50;
/** Best files looked at, of which several may belong to one item. */
const FILES = 400;
/** Column of the index that passages come from: left to itself, FTS5 also quotes the account, which every look-up matches. */
const BODY = 5;

/**
 * Full text over name, description and text files of items that are not removed, best first, one hit per item. Terms
 * are the person's words, all of which must occur; the last one also matches as a beginning. Nothing in them is syntax.
 */
export async function searchItems(
  ctx: Context,
  { query, kind }: { query: string; kind?: Kind | undefined },
): Promise<SearchHit[]> {
  const words = query.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  if (words.length === 0) {
    throw new RegistryError('invalid_input', 'The search has no word in it; give at least one.', {
      field: 'query',
    });
  }
  const terms = `{name description body} : (${words.map((word) => `"${word}"`).join(' AND ')}*)`;
  const hit = ctx.db
    .select({
      item: search.item,
      path: search.path,
      passage: sql<string>`coalesce(snippet(${search}, ${BODY}, '', '', '…', 24), '')`.as('passage'),
      rank: sql<number>`bm25(${search}, 0, 0, 0, 10, 5, 1)`.as('rank'),
    })
    .from(search)
    .where(sql`${search} match 'account:"' || ${ctx.account} || '" AND ' || ${terms}`)
    .orderBy(sql`rank`)
    .limit(FILES)
    .as('hit');
  const [rows] = await ctx.batch([
    ctx.db
      .select({ ...summaryColumns, path: hit.path, passage: hit.passage })
      .from(hit)
      .innerJoin(items, eq(items.id, hit.item))
      .where(and(ne(items.state, 'removed'), kind && eq(items.kind, kind)))
      .orderBy(sql`${hit.rank}`),
  ]);
  ctx.require('skills:read');
  const best = new Map<string, SearchHit>();
  for (const row of rows) {
    if (best.size === HITS) break;
    if (!best.has(row.id)) best.set(row.id, row);
  }
  return [...best.values()];
}
