import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type {
  DeviceEvent,
  PairingRequest,
  PublicJwk,
  ReportedFolder,
  ReportedItem,
} from '../../../schema/api.ts';
import type { Author, Kind } from '../../../schema/item.ts';
import { accounts } from './registry.ts';

export const devices = sqliteTable(
  'devices',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text().notNull(),
    platform: text().notNull(),
    /** RFC 7638 thumbprint of the device's key. */
    thumbprint: text().notNull().unique(),
    pairedAt: integer('paired_at').notNull(),
    lastSeenAt: integer('last_seen_at'),
    revokedAt: integer('revoked_at'),
    /** Sequence up to which the device has reported. */
    reportedSeq: integer('reported_seq'),
    agentVersion: text('agent_version'),
  },
  (t) => [index('devices_of_account').on(t.accountId)],
);

export const deviceTokens = sqliteTable('device_tokens', {
  hash: text().primaryKey(),
  deviceId: text('device_id')
    .notNull()
    .references(() => devices.id),
  expiresAt: integer('expires_at').notNull(),
});

export const pairings = sqliteTable(
  'pairings',
  {
    /** SHA-256 of the device code. */
    deviceCode: text('device_code').primaryKey(),
    userCode: text('user_code').notNull().unique(),
    jwk: text({ mode: 'json' }).$type<PublicJwk>().notNull(),
    thumbprint: text().notNull(),
    name: text().notNull(),
    platform: text().notNull(),
    place: text().notNull(),
    madeAt: integer('made_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    lastPollAt: integer('last_poll_at'),
    state: text().$type<PairingRequest['state']>().notNull(),
    /** The caller who opened the code first, `type:id`: nobody else may settle it. */
    claimedBy: text('claimed_by'),
    accountId: text('account_id'),
    approvedBy: text('approved_by', { mode: 'json' }).$type<Author>(),
  },
  (t) => [index('pairings_by_place').on(t.place, t.madeAt)],
);

/** Wrong pairing codes typed by an account: five in ten minutes lock it. */
export const codeMisses = sqliteTable(
  'code_misses',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    at: integer().notNull(),
  },
  (t) => [index('code_misses_in_order').on(t.accountId, t.at)],
);

/** Ids of DPoP proofs already seen: a second insert aborts the request's first batch (RFC 9449 section 11.1). */
export const proofs = sqliteTable(
  'proofs',
  {
    thumbprint: text().notNull(),
    jti: text().notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.thumbprint, t.jti] }), index('proofs_by_expiry').on(t.expiresAt)],
);

export const folderReports = sqliteTable(
  'folder_reports',
  {
    deviceId: text('device_id')
      .notNull()
      .references(() => devices.id),
    path: text().notNull(),
    kind: text().$type<Kind>().notNull(),
    clients: text({ mode: 'json' }).$type<string[]>().notNull(),
    state: text().$type<ReportedFolder['state']>().notNull(),
    message: text(),
    at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.deviceId, t.path, t.kind] })],
);

/** What a device has of an item in one folder, by the bytes it read back. */
export const folderItems = sqliteTable(
  'folder_items',
  {
    deviceId: text('device_id')
      .notNull()
      .references(() => devices.id),
    path: text().notNull(),
    kind: text().$type<Kind>().notNull(),
    itemId: text('item_id').notNull(),
    name: text().notNull(),
    state: text().$type<ReportedItem['state']>().notNull(),
    revision: integer(),
    digest: text(),
    message: text(),
    at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deviceId, t.path, t.kind, t.itemId] }),
    index('folder_items_of_item').on(t.itemId),
    index('folder_items_odd').on(t.deviceId, t.state),
  ],
);

export const deviceEvents = sqliteTable(
  'device_events',
  {
    deviceId: text('device_id')
      .notNull()
      .references(() => devices.id),
    id: text().notNull(),
    receivedAt: integer('received_at').notNull(),
    itemId: text('item_id').notNull(),
    event: text({ mode: 'json' }).$type<DeviceEvent>().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deviceId, t.id] }),
    index('device_events_in_order').on(t.deviceId, t.receivedAt),
    index('device_events_of_item').on(t.itemId, t.receivedAt),
  ],
);

export const clientsSeen = sqliteTable(
  'clients_seen',
  {
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** Empty when the session came without a device. */
    deviceId: text('device_id').notNull(),
    name: text().notNull(),
    version: text().notNull(),
    firstSeenAt: integer('first_seen_at').notNull(),
    lastSeenAt: integer('last_seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.deviceId, t.name, t.version] })],
);
