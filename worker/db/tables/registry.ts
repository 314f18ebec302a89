import { sql } from 'drizzle-orm';
import {
  blob,
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import type { Change } from '../../../schema/api.ts';
import type { Author, Flag, Kind, State } from '../../../schema/item.ts';

/** One account has one registry. `epoch` names this life of it; `seq` is its head, the number of the last change. */
export const accounts = sqliteTable('accounts', {
  id: text().primaryKey(),
  name: text().notNull(),
  epoch: text().notNull(),
  seq: integer().notNull().default(0),
  guidelines: text().notNull().default(''),
  guidelinesSeq: integer('guidelines_seq').notNull().default(0),
  guidelinesAt: integer('guidelines_at'),
  createdAt: integer('created_at').notNull(),
});

/** Head of an item: what a list needs without touching revisions. `seq` is the change that last touched it. */
export const items = sqliteTable(
  'items',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    kind: text().$type<Kind>().notNull(),
    name: text().notNull(),
    description: text().notNull(),
    state: text().$type<State>().notNull(),
    revision: integer().notNull(),
    digest: text().notNull(),
    flags: text({ mode: 'json' }).$type<Flag[]>().notNull(),
    /** Front matter as JSON, as the Skills extension serves it; null when it cannot represent the item. */
    frontMatter: text('front_matter', { mode: 'json' }).$type<Record<string, unknown>>(),
    /** About how much a changes page carries of the item. */
    inlineBytes: integer('inline_bytes').notNull(),
    seq: integer().notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('items_by_name').on(t.accountId, t.kind, t.name),
    uniqueIndex('items_by_seq').on(t.accountId, t.seq),
    index('items_listed').on(t.accountId, t.state, t.kind, t.name),
  ],
);

export const revisions = sqliteTable(
  'revisions',
  {
    itemId: text('item_id')
      .notNull()
      .references(() => items.id),
    revision: integer().notNull(),
    parent: integer(),
    digest: text().notNull(),
    name: text().notNull(),
    description: text().notNull(),
    flags: text({ mode: 'json' }).$type<Flag[]>().notNull(),
    frontMatter: text('front_matter', { mode: 'json' }).$type<Record<string, unknown>>(),
    author: text({ mode: 'json' }).$type<Author>().notNull(),
    madeAt: integer('made_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.itemId, t.revision] })],
);

export const files = sqliteTable(
  'files',
  {
    itemId: text('item_id')
      .notNull()
      .references(() => items.id),
    revision: integer().notNull(),
    path: text().notNull(),
    digest: text().notNull(),
    size: integer().notNull(),
    executable: integer({ mode: 'boolean' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.itemId, t.revision, t.path] })],
);

/** Content by digest, stored once per account, never shared between accounts. */
export const blobs = sqliteTable(
  'blobs',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    digest: text().notNull(),
    size: integer().notNull(),
    bytes: blob().$type<Uint8Array>().notNull(),
    storedAt: integer('stored_at').notNull(),
    /** When it was last sent by itself; null once a revision names it, for a revision is for ever. */
    looseSince: integer('loose_since'),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.digest] }),
    index('blobs_loose').on(t.looseSince).where(sql`${t.looseSince} is not null`),
  ],
);

/** What happened in a registry, in order. The feed for devices reads item heads by `seq`; this is the memory of who did what. */
export const changes = sqliteTable(
  'changes',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    seq: integer().notNull(),
    at: integer().notNull(),
    type: text().$type<Change['type']>().notNull(),
    itemId: text('item_id'),
    kind: text().$type<Kind>(),
    name: text(),
    revision: integer(),
    author: text({ mode: 'json' }).$type<Author>().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.seq] }),
    index('changes_of_item').on(t.itemId, t.seq),
    index('changes_removed').on(t.accountId, t.at).where(sql`${t.type} = 'removed'`),
  ],
);

/** A row that breaks its CHECK aborts the batch it is in: how a batch refuses to run against a head that has moved. */
export const guards = sqliteTable('guards', { holds: integer().notNull() }, (t) => [
  check('guard_holds', sql`${t.holds} = 1`),
]);

/** `ask` matches that the account has confirmed to be no credentials, by SHA-256 of the match. */
export const confirmations = sqliteTable(
  'confirmations',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    itemId: text('item_id').notNull(),
    rule: text().notNull(),
    match: text().notNull(),
    author: text({ mode: 'json' }).$type<Author>().notNull(),
    at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.itemId, t.rule, t.match] })],
);
