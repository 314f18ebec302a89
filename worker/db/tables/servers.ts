import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { ServerCredential } from '../../../schema/servers.ts';
import { accounts } from './registry.ts';

/** Other MCP servers that an account has added. */
export const servers = sqliteTable(
  'servers',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text().notNull(),
    upstream: text().notNull(),
    /** YAML, as written. */
    manifest: text().notNull(),
    inMain: integer('in_main', { mode: 'boolean' }).notNull(),
    credentialType: text('credential_type').$type<ServerCredential['type']>().notNull(),
    /** Encrypted; null for none. */
    credential: text(),
    /** OAuth with the server: client registration and tokens, encrypted; null before it is connected. */
    grant: text(),
    /** Rises with each change of what the server is spoken to with: what an isolate keeps belongs to one of them. */
    version: integer().notNull(),
    /** The tools that it listed last, as it gave them. */
    tools: text({ mode: 'json' }).$type<unknown[]>(),
    toolsAt: integer('tools_at'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [uniqueIndex('servers_by_name').on(t.accountId, t.name)],
);

/** Skills that ride on the tools of one server only. */
export const serverSkills = sqliteTable(
  'server_skills',
  {
    serverId: text('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    file: text().notNull(),
    text: text().notNull(),
    digest: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.serverId, t.file] })],
);

/** Persons who were sent to a server's login. Taken out by whoever comes back. */
export const serverLogins = sqliteTable(
  'server_logins',
  {
    /** SHA-256 of the `state` that was sent along. */
    hash: text().primaryKey(),
    serverId: text('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    accountId: text('account_id').notNull(),
    /** What the exchange needs, encrypted. */
    data: text().notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [index('server_logins_by_expiry').on(t.expiresAt)],
);
