import { z } from 'zod';
import { Scope } from './api.ts';

/** Shapes of the web API under `/api/v1` that are about a person's account and who gets into it. Times are milliseconds. */

/** `GET /api/v1/passkeys` */
export const Passkey = z.object({
  id: z.string(),
  name: z.string(),
  synced: z.boolean(),
  created_at: z.number().int(),
  last_used_at: z.number().int().nullable(),
});
export type Passkey = z.infer<typeof Passkey>;
export const PasskeyList = z.object({
  passkeys: z.array(Passkey),
  /** Recovery codes that were not used yet. */
  recovery_codes_left: z.number().int(),
});
export type PasskeyList = z.infer<typeof PasskeyList>;

/** `PATCH /api/v1/passkeys/{id}` */
export const PasskeyBody = z.strictObject({ name: z.string().min(1).max(100) });

/** `POST /api/v1/recovery-codes`: eight new ones, shown once; the old ones are dead. */
export const RecoveryCodes = z.object({ recovery_codes: z.array(z.string()) });
export type RecoveryCodes = z.infer<typeof RecoveryCodes>;

/** `GET /api/v1/sessions` */
export const Session = z.object({
  id: z.string(),
  browser: z.string(),
  place: z.string(),
  method: z.enum(['passkey', 'recovery', 'oidc', 'access']),
  created_at: z.number().int(),
  last_used_at: z.number().int().nullable(),
  expires_at: z.number().int(),
  /** The session that asks. */
  current: z.boolean(),
});
export type Session = z.infer<typeof Session>;
export const SessionList = z.object({ sessions: z.array(Session) });
export type SessionList = z.infer<typeof SessionList>;

/** `GET /api/v1/identities`: logins elsewhere that open the account. */
export const Identity = z.object({
  id: z.string(),
  /** Who vouches for it, an https address. */
  issuer: z.string(),
  /** As the issuer calls it, such as an e-mail address. */
  name: z.string(),
  created_at: z.number().int(),
  last_used_at: z.number().int().nullable(),
});
export type Identity = z.infer<typeof Identity>;
export const IdentityList = z.object({ identities: z.array(Identity) });
export type IdentityList = z.infer<typeof IdentityList>;

/** `GET /api/v1/applications`: MCP clients that were let in over OAuth. */
export const Application = z.object({
  id: z.string(),
  client_id: z.string(),
  name: z.string(),
  host: z.string(),
  scopes: z.array(Scope),
  read_only: z.boolean(),
  connected_at: z.number().int(),
  last_used_at: z.number().int().nullable(),
});
export type Application = z.infer<typeof Application>;
export const ApplicationList = z.object({ applications: z.array(Application) });
export type ApplicationList = z.infer<typeof ApplicationList>;

/** `GET /api/v1/tokens`: API tokens, never the tokens themselves. */
export const ApiToken = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(Scope),
  created_at: z.number().int(),
  expires_at: z.number().int().nullable(),
  last_used_at: z.number().int().nullable(),
});
export type ApiToken = z.infer<typeof ApiToken>;
export const ApiTokenList = z.object({ tokens: z.array(ApiToken) });
export type ApiTokenList = z.infer<typeof ApiTokenList>;

/** `POST /api/v1/tokens` */
export const ApiTokenBody = z.strictObject({
  name: z.string().min(1).max(100),
  scopes: z.array(Scope).min(1),
  /** Days until it ends; null for never. */
  days: z.number().int().min(1).max(3650).nullable(),
});
export type ApiTokenBody = z.infer<typeof ApiTokenBody>;
/** The token is in this one answer and nowhere else. */
export const MadeApiToken = z.object({ token: z.string(), made: ApiToken });
export type MadeApiToken = z.infer<typeof MadeApiToken>;

/** `POST /api/v1/revoke-all`: how many of each have ended. The session or API token that calls goes on. */
export const RevokedAll = z.object({
  sessions: z.number().int(),
  tokens: z.number().int(),
  applications: z.number().int(),
  devices: z.number().int(),
  /** Linked logins. */
  identities: z.number().int(),
  /** Not used yet. */
  invitations: z.number().int(),
});
export type RevokedAll = z.infer<typeof RevokedAll>;

/** `POST /api/v1/invitations` */
export const InvitationBody = z.strictObject({ name: z.string().min(1).max(100) });
/** `GET /api/v1/invitations`: those that somebody can still use, never their links. */
export const InvitationList = z.object({
  invitations: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      created_at: z.number().int(),
      expires_at: z.number().int(),
    }),
  ),
});
export type InvitationList = z.infer<typeof InvitationList>;
/** A link that makes one further account, once, within the hour. */
export const Invitation = z.object({ url: z.string(), expires_at: z.number().int() });
export type Invitation = z.infer<typeof Invitation>;

/** `GET /api/v1/events`, newest first: what happened to the access to an account. */
export const AccountEvent = z.object({
  id: z.string(),
  at: z.number().int(),
  type: z.enum([
    'owner_made',
    'signed_in',
    'passkey_added',
    'passkey_removed',
    'recovery_code_used',
    'recovery_codes_made',
    'recovery_link_used',
    'identity_linked',
    'identity_unlinked',
    'invited',
    'application_connected',
    'application_revoked',
    'refresh_replayed',
    'token_made',
    'token_revoked',
    'session_revoked',
    'device_paired',
    'device_revoked',
    'key_on_two_machines',
    'pairing_locked',
    'all_revoked',
  ]),
  /** Facts for the sentence that a person reads, such as `name`, `place`, `host`. */
  details: z.record(z.string(), z.string()),
});
export type AccountEvent = z.infer<typeof AccountEvent>;
export const AccountEventList = z.object({ events: z.array(AccountEvent) });
export type AccountEventList = z.infer<typeof AccountEventList>;
