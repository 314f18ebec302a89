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
import type { AccountEvent } from '../../schema/account.ts';
import type {
  Change,
  DeviceEvent,
  PairingRequest,
  PublicJwk,
  ReportedFolder,
  ReportedItem,
  Scope,
} from '../../schema/api.ts';
import type { Author, Flag, Kind, State } from '../../schema/item.ts';
import type { ServerCredential } from '../../schema/servers.ts';

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

/** A passkey (WebAuthn credential) of the person whose account it is. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    /** Credential id, base64url. */
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** COSE key. */
    publicKey: blob('public_key').$type<Uint8Array>().notNull(),
    /** Signature counter of its last use; 0 for an authenticator that does not count. */
    counter: integer().notNull(),
    transports: text({ mode: 'json' }).$type<string[]>().notNull(),
    /** Whether the authenticator syncs it to others. */
    synced: integer({ mode: 'boolean' }).notNull(),
    name: text().notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (t) => [index('passkeys_of_account').on(t.accountId)],
);

/** What a browser was asked to sign, or sent away with. Taken out by whoever answers, so that it is answered once. */
export const challenges = sqliteTable(
  'challenges',
  {
    /** SHA-256 of the cookie of the browser that was asked. */
    browser: text().notNull(),
    purpose: text().$type<'setup' | 'login' | 'check' | 'passkey' | 'oidc'>().notNull(),
    challenge: text().notNull(),
    data: text({ mode: 'json' }).$type<Record<string, string>>(),
    expiresAt: integer('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.browser, t.purpose] }), index('challenges_by_expiry').on(t.expiresAt)],
);

/** Links that let somebody in once: `owner` is dead once an account has a passkey, `recovery` is made with deploy rights. */
export const links = sqliteTable('links', {
  /** SHA-256 of the token in the link's fragment. */
  hash: text().primaryKey(),
  type: text().$type<'owner' | 'recovery' | 'invitation'>().notNull(),
  /** Account that the passkey is for; null for an invitation, which makes one. */
  accountId: text('account_id').references(() => accounts.id),
  /** Account that invites. */
  madeBy: text('made_by').references(() => accounts.id),
  /** What the inviter calls the guest. */
  name: text().notNull().default(''),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
});

export const recoveryCodes = sqliteTable('recovery_codes', {
  /** SHA-256 of the code. */
  hash: text().primaryKey(),
  accountId: text('account_id')
    .notNull()
    .references(() => accounts.id),
  usedAt: integer('used_at'),
});

export const sessions = sqliteTable(
  'sessions',
  {
    id: text().primaryKey(),
    /** SHA-256 of the cookie's value. */
    hash: text().notNull().unique(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** How the person signed in. */
    method: text().$type<'passkey' | 'recovery' | 'oidc' | 'access'>().notNull(),
    /** The passkey that opened it; it ends with it. Null where something else opened it. */
    passkeyId: text('passkey_id'),
    /** Browser and system, in words for the person. */
    browser: text().notNull(),
    place: text().notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    /** When a passkey was last checked in it. */
    verifiedAt: integer('verified_at'),
    revokedAt: integer('revoked_at'),
  },
  (t) => [index('sessions_of_account').on(t.accountId)],
);

/** Logins elsewhere that open an account, by issuer and subject; an e-mail address never links. */
export const identities = sqliteTable(
  'identities',
  {
    issuer: text().notNull(),
    subject: text().notNull(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** For the person to recognise it. */
    name: text().notNull(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (t) => [primaryKey({ columns: [t.issuer, t.subject] }), index('identities_of_account').on(t.accountId)],
);

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

/** What happened to an account's access that its person should see. */
export const accountEvents = sqliteTable(
  'account_events',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    at: integer().notNull(),
    type: text().$type<AccountEvent['type']>().notNull(),
    details: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
  },
  (t) => [index('account_events_in_order').on(t.accountId, t.at)],
);

/** How often something was tried in a window of time. */
export const attempts = sqliteTable(
  'attempts',
  {
    bucket: text().primaryKey(),
    count: integer().notNull(),
    resetsAt: integer('resets_at').notNull(),
  },
  (t) => [index('attempts_by_reset').on(t.resetsAt)],
);

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
