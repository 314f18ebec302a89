import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Scope } from '../../../schema/api.ts';
import { accounts } from './registry.ts';

export const tokens = sqliteTable('tokens', {
  id: text().primaryKey(),
  accountId: text('account_id')
    .notNull()
    .references(() => accounts.id),
  /** SHA-256 of the token; the token itself is shown once and kept nowhere. */
  hash: text().notNull().unique(),
  name: text().notNull(),
  scopes: text({ mode: 'json' }).$type<Scope[]>().notNull(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
  lastUsedAt: integer('last_used_at'),
  revokedAt: integer('revoked_at'),
});

/** Records of the OAuth library under its keys. `version` rises with each write, so that a write can insist on what it read. */
export const oauthRecords = sqliteTable(
  'oauth_records',
  {
    key: text().primaryKey(),
    value: text().notNull(),
    metadata: text({ mode: 'json' }).$type<unknown>(),
    expiresAt: integer('expires_at'),
    version: integer().notNull(),
  },
  (t) => [index('oauth_records_by_expiry').on(t.expiresAt)],
);

/** Refresh tokens that were exchanged or replaced, by SHA-256. One that comes again late ends its grant. */
export const refreshes = sqliteTable(
  'refreshes',
  {
    hash: text().primaryKey(),
    grant: text().notNull(),
    accountId: text('account_id').notNull(),
    /** The answer that was given, under a key that only the refresh token yields; null when its time to be repeated is over. */
    answer: text(),
    at: integer().notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [index('refreshes_of_grant').on(t.grant), index('refreshes_by_expiry').on(t.expiresAt)],
);

/** MCP clients that a person let in: one row per grant of the OAuth server. */
export const applications = sqliteTable(
  'applications',
  {
    /** Id of the grant. */
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    clientId: text('client_id').notNull(),
    /** As the client calls itself. */
    name: text().notNull(),
    /** Host that vouches for the client: of its CIMD document, else of its redirect. */
    host: text().notNull(),
    resource: text().notNull(),
    scopes: text({ mode: 'json' }).$type<Scope[]>().notNull(),
    /** The person limited it to reading. */
    readOnly: integer('read_only', { mode: 'boolean' }).notNull(),
    connectedAt: integer('connected_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    revokedAt: integer('revoked_at'),
  },
  (t) => [index('applications_of_account').on(t.accountId), index('applications_of_client').on(t.clientId)],
);
