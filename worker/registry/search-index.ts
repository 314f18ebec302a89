import { and, eq, inArray, sql } from 'drizzle-orm';
import { type FileEntry, MAIN_FILE, type State } from '../../schema/item.ts';
import type { Statement } from '../db/client.ts';
import { search } from '../db/search.ts';
import { blobs } from '../db/tables/registry.ts';
import type { Content } from './content.ts';
import type { Context } from './context.ts';
import type { Head } from './head.ts';

/** Of each text file, so that one long log does not fill the index. */
const INDEXED_CHARACTERS = 256 * 1024;

interface Indexed {
  readonly id: string;
  readonly head: Head | null;
  readonly content: Content | null;
  readonly state: State;
  /** What the item is once it is written. */
  readonly current: Pick<Head, 'kind' | 'name' | 'description' | 'files'>;
}

/**
 * Keeps the full-text index in step with a write, in the write's own batch: rows of files that changed are replaced, the
 * others stay.
 */
export function indexStatements(ctx: Context, { id, head, content, state, current }: Indexed): Statement[] {
  const ofItem = sql`${search} match ${`item:"${id}"`}`;
  const forget = ctx.db.delete(search).where(ofItem);
  if (state === 'removed') return [forget];
  const revived = head?.state === 'removed';
  if (!content && !revived) return [];
  const { name, description, files } = current;
  const main = MAIN_FILE[current.kind];
  const texts = content?.texts ?? new Map<string, string>();

  const kept = head && !revived ? unchanged(head.files, files, texts) : [];
  const statements: Statement[] = [];
  if (kept.length === 0) statements.push(forget);
  else {
    const stale = [...new Set([main, ...(head?.files ?? []).map((file) => file.path)])].filter(
      (path) => path === main || !kept.includes(path),
    );
    statements.push(ctx.db.delete(search).where(and(ofItem, inArray(search.path, stale))));
  }
  for (const file of files) {
    if (kept.includes(file.path) && file.path !== main) continue;
    const text = texts.get(file.path);
    // What is written and no text has no words. Only a main file is indexed again without being written, and is text.
    const body =
      text !== undefined || file.path !== main
        ? sql`${(text ?? '').slice(0, INDEXED_CHARACTERS).toWellFormed()}`
        : sql`(select substr(cast(${blobs.bytes} as text), 1, ${INDEXED_CHARACTERS}) from ${blobs} where ${and(eq(blobs.accountId, ctx.account), eq(blobs.digest, file.digest))})`;
    statements.push(
      ctx.db.insert(search).values({
        account: ctx.account,
        item: id,
        path: file.path,
        name: file.path === main ? name : '',
        description: file.path === main ? description : '',
        body,
      }),
    );
  }
  return statements;
}

function unchanged(
  before: readonly FileEntry[],
  after: readonly FileEntry[],
  texts: ReadonlyMap<string, string>,
): string[] {
  const known = new Map(before.map((file) => [file.path, file.digest]));
  return after
    .filter((file) => known.get(file.path) === file.digest && !texts.has(file.path))
    .map((file) => file.path);
}
