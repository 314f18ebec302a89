import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { AccountEvent } from '../../../schema/account.ts';
import { accounts } from './registry.ts';

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
