import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * The full-text index, an FTS5 table with a row for each file of each item that is not removed. It stands apart from the
 * other tables because drizzle-kit cannot make a virtual one: a migration of its own does. `account` and `item` are
 * indexed words, so that a look-up reads only its own account's rows.
 */
export const search = sqliteTable('search', {
  account: text().notNull(),
  item: text().notNull(),
  path: text().notNull(),
  /** Of the item, in the row of its main file; empty in the others. So is the description. */
  name: text().notNull(),
  description: text().notNull(),
  body: text().notNull(),
});
