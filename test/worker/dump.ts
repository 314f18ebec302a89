import { sql } from 'drizzle-orm';
import type { Database } from '../../worker/db/client.ts';

/** Every row of every table but the columns named `table.column`, to compare a database with itself later. */
export async function dumpDatabase(
  db: Database,
  ignored: readonly string[] = [],
): Promise<Record<string, string[]>> {
  const tables = await db.all<{ name: string }>(
    sql`select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`,
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const all = await db.all<Record<string, unknown>>(sql.raw(`select * from "${name}"`));
    rows[name] = all.map((row) => text(row, (column) => !ignored.includes(`${name}.${column}`))).sort();
  }
  return rows;
}

function text(row: Record<string, unknown>, counts: (column: string) => boolean): string {
  const kept = Object.entries(row).filter(([column]) => counts(column));
  return JSON.stringify(kept, (_, value) =>
    value instanceof ArrayBuffer ? Buffer.from(value).toString('hex') : value,
  );
}
