import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@libsql/client/http';
import { drizzle } from 'drizzle-orm/libsql/http';
import { migrate } from 'drizzle-orm/libsql/migrator';

/** The database holds migrations that this version does not have. */
export class NewerDatabaseError extends Error {}

/**
 * Brings a database up to the migrations in `folder`, in one transaction.
 * @throws NewerDatabaseError before anything is changed.
 */
export async function migrateDatabase(client: Client, folder: string): Promise<void> {
  const journal = JSON.parse(await readFile(join(folder, 'meta', '_journal.json'), 'utf8')) as {
    entries: { when: number }[];
  };
  const known = new Set(journal.entries.map(({ when }) => when));
  if ((await appliedMigrations(client)).some((when) => !known.has(when))) throw new NewerDatabaseError();
  await migrate(drizzle(client), { migrationsFolder: folder });
}

async function appliedMigrations(client: Client): Promise<number[]> {
  const { rows: tables } = await client.execute(
    "SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'",
  );
  if (tables.length === 0) return [];
  const { rows } = await client.execute('SELECT created_at FROM __drizzle_migrations');
  return rows.map(({ created_at: when }) => Number(when));
}
