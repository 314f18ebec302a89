import { and, asc, eq, gt, gte, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import { type Database, guardBroke, type Statement } from '../db/client.ts';
import { oauthRecords } from '../db/tables/programs.ts';
import { guards } from '../db/tables/registry.ts';

/** A record of the OAuth library. */
export interface OAuthRecord {
  readonly value: string;
  readonly metadata: unknown;
}

/** A write to a record. `based`: only while the record has the version that was read, 0 for none. */
export interface RecordChange {
  readonly key: string;
  /** Null takes the record away. */
  readonly record: (OAuthRecord & { readonly expiresAt: number | null }) | null;
  readonly based?: number;
}

/** Runs statements as one transaction: a database's batch, or that of a caller whose credential must still hold. */
export type Write = (statements: readonly [Statement, ...Statement[]]) => Promise<unknown>;

/** What was read has been written by somebody else meanwhile, so nothing was stored. */
export class StaleRecordError extends Error {
  override readonly name = 'StaleRecordError';
}

/** Sorts after every key. */
const LAST = '\u{10ffff}';

/** A record, null when there is none or its time is over, and the version that a write can insist on; 0 for no row. */
export async function readRecord(
  db: Database,
  key: string,
  now: number,
): Promise<{ record: OAuthRecord | null; version: number }> {
  const [row] = await db.select().from(oauthRecords).where(eq(oauthRecords.key, key));
  if (!row) return { record: null, version: 0 };
  const { value, metadata, expiresAt, version } = row;
  return { record: expiresAt !== null && expiresAt <= now ? null : { value, metadata }, version };
}

/** Records whose key begins with `prefix` and comes after `after`, by key. */
export function listRecords(
  db: Database,
  { prefix, after, limit, now }: { prefix: string; after: string; limit: number; now: number },
): Promise<{ key: string; metadata: unknown; expiresAt: number | null }[]> {
  const { key, metadata, expiresAt } = oauthRecords;
  return db
    .select({ key, metadata, expiresAt })
    .from(oauthRecords)
    .where(and(withPrefix(prefix), gt(key, after), or(isNull(expiresAt), gt(expiresAt, now))))
    .orderBy(asc(key))
    .limit(limit);
}

/**
 * Writes records in one transaction of `write`, with the statements that belong to it.
 * @throws StaleRecordError
 */
export async function writeRecords(
  db: Database,
  write: Write,
  changes: readonly RecordChange[],
  also: readonly Statement[],
): Promise<void> {
  const bases = changes.flatMap(({ key, based }) =>
    based === undefined ? [] : [{ holds: isAt(key, based) }],
  );
  const statements: Statement[] =
    bases.length === 0 ? [] : [db.insert(guards).values(bases), db.delete(guards)];
  statements.push(...changes.map((change) => changeStatement(db, change)), ...also);
  const [first, ...rest] = statements;
  if (!first) return;
  try {
    await write([first, ...rest]);
  } catch (cause) {
    if (guardBroke(cause)) throw new StaleRecordError('An OAuth record was written meanwhile.', { cause });
    throw cause;
  }
}

/** Condition on a record's key. */
export function withPrefix(prefix: string): SQL | undefined {
  return and(gte(oauthRecords.key, prefix), lt(oauthRecords.key, prefix + LAST));
}

function isAt(key: string, version: number): SQL<number> {
  return sql`coalesce((select ${oauthRecords.version} from ${oauthRecords} where ${oauthRecords.key} = ${key}), 0) = ${version}`;
}

function changeStatement(db: Database, { key, record }: RecordChange): Statement {
  if (!record) return db.delete(oauthRecords).where(eq(oauthRecords.key, key));
  return db
    .insert(oauthRecords)
    .values({ key, ...record, version: 1 })
    .onConflictDoUpdate({
      target: oauthRecords.key,
      set: { ...record, version: sql`${oauthRecords.version} + 1` },
    });
}
