import type { Client } from '@libsql/client/web';
import type { BatchItem } from 'drizzle-orm/batch';
import type { LibSQLDatabase } from 'drizzle-orm/libsql';
import { drizzle } from 'drizzle-orm/libsql/web';

export type Database = LibSQLDatabase;
/** A statement built but not yet run, so that it can ride in a batch. */
export type Statement = BatchItem<'sqlite'>;

/** The database behind a libSQL client of any kind (far, bound or file). */
export function openDatabase(client: Client): Database {
  return drizzle(client);
}

/** Which constraint a failed batch broke: `CHECK guard_holds`, `UNIQUE items.name`, …; null for any other error. */
export function brokenConstraint(error: unknown): string | null {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const match = /(CHECK|UNIQUE|NOT NULL|FOREIGN KEY) constraint failed:? ?([^\n]*)/.exec(cause.message);
    if (match) return `${match[1]} ${match[2]}`.trim();
  }
  return null;
}

/** Whether a batch was aborted by a row of `guards`: what it was based on no longer held. */
export function guardBroke(error: unknown): boolean {
  return brokenConstraint(error)?.startsWith('CHECK guard_holds') ?? false;
}
