import { sql } from 'drizzle-orm';
import type { SearchHit } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { ItemSummary, Kind } from '../../schema/item.ts';
import type { Context } from './context.ts';

const HITS = 50;
/** Column of the index that passages come from: left to itself, FTS5 also quotes the account, which every look-up matches. */
const BODY = 5;

interface HitRow extends Omit<ItemSummary, 'flags'> {
  flags: string;
  path: string;
  passage: string;
}

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
  const [rows] = await ctx.batch([
    ctx.db.all<HitRow>(sql`
      select i.id, i.kind, i.name, i.description, i.state, i.revision, i.digest, i.flags, i.updated_at, hit.path, hit.passage
      from (
        select item, path, coalesce(snippet(search, ${BODY}, '', '', '…', 24), '') as passage, bm25(search, 0, 0, 0, 10, 5, 1) as rank
        from search
        where search match 'account:"' || ${ctx.account} || '" AND ' || ${terms}
        order by rank limit 400
      ) hit
      join items i on i.id = hit.item
      where i.state <> 'removed' ${kind ? sql`and i.kind = ${kind}` : sql``}
      order by hit.rank`),
  ]);
  ctx.require('skills:read');
  const best = new Map<string, SearchHit>();
  for (const row of rows) {
    if (best.size === HITS) break;
    if (!best.has(row.id)) best.set(row.id, { ...row, flags: JSON.parse(row.flags) });
  }
  return [...best.values()];
}
