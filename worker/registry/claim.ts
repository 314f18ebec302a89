import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import { Scope } from '../../schema/api.ts';
import type { Database, Statement } from '../db/client.ts';
import { devices, deviceTokens } from '../db/tables/devices.ts';
import { sessions } from '../db/tables/people.ts';
import { applications, tokens } from '../db/tables/programs.ts';
import { type Proof, proofStatement } from './proof.ts';
import { prolonged } from './session-life.ts';

/** What a request claims to be, proven as far as that goes without the database. */
export type Claim = TokenClaim | DeviceClaim | SessionClaim | OAuthClaim;

interface TokenClaim {
  readonly type: 'token';
  readonly hash: string;
}

interface DeviceClaim {
  readonly type: 'device';
  readonly tokenHash: string;
  readonly proof: Proof;
}

interface SessionClaim {
  readonly type: 'session';
  /** SHA-256 of the cookie's value. */
  readonly hash: string;
}

/** An access token that the OAuth server has found to be valid for the resource that was called. */
interface OAuthClaim {
  readonly type: 'oauth';
  readonly grant: string;
  readonly accountId: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
}

/** Whom a credential that holds belongs to. */
export interface Holder {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  /** Absent where they are the same for all of this type. */
  readonly scopes?: readonly Scope[];
  readonly usedAt: number | null;
  /** When a passkey was last checked; for a session only. */
  readonly verifiedAt?: number | null;
  /** Whether the person limited an application to reading. */
  readonly readOnly?: boolean;
}

/** How a claim is confirmed. Its sub-queries yield nothing for a credential that does not hold. */
interface Lookup {
  /** Of what may be kept for the next call; null for a device, which is told by what is in its folders. */
  readonly key: string | null;
  readonly account: SQL<string>;
  /** Id of the calling device; null where the caller is none. */
  readonly device: SQL<string> | null;
  /** The last of them yields the {@link Holder}, or nothing. */
  readonly statements: readonly Statement[];
  /** Scopes of a holder that names none. */
  readonly scopes: readonly Scope[];
  /** What is said to a caller whose credential does not hold. */
  readonly refusal: string;
  markUsed(id: string): Promise<unknown>;
}

const DEVICE_SCOPES: readonly Scope[] = ['skills:read', 'skills:write'];

/** The look-up of a claim at a time, milliseconds. Each type of credential has one of its own. */
export function lookUp(db: Database, claim: Claim, now: number): Lookup {
  switch (claim.type) {
    case 'token':
      return lookUpToken(db, claim, now);
    case 'device':
      return lookUpDevice(db, claim, now);
    case 'session':
      return lookUpSession(db, claim, now);
    case 'oauth':
      return lookUpApplication(db, claim, now);
  }
}

function lookUpToken(db: Database, { hash }: TokenClaim, now: number): Lookup {
  const holds = and(
    eq(tokens.hash, hash),
    isNull(tokens.revokedAt),
    or(isNull(tokens.expiresAt), gt(tokens.expiresAt, now)),
  );
  return {
    key: `token ${hash}`,
    account: sql`(select ${tokens.accountId} from ${tokens} where ${holds})`,
    device: null,
    statements: [
      db
        .select({
          id: tokens.id,
          name: tokens.name,
          accountId: tokens.accountId,
          scopes: tokens.scopes,
          usedAt: tokens.lastUsedAt,
        })
        .from(tokens)
        .where(holds),
    ],
    scopes: [],
    refusal: 'This API token is not known here, has expired or was revoked; make a new one.',
    markUsed: (id) => db.update(tokens).set({ lastUsedAt: now }).where(eq(tokens.id, id)).run(),
  };
}

function lookUpDevice(db: Database, { tokenHash, proof }: DeviceClaim, now: number): Lookup {
  const holds = and(
    eq(deviceTokens.hash, tokenHash),
    gt(deviceTokens.expiresAt, now),
    eq(devices.thumbprint, proof.thumbprint),
    isNull(devices.revokedAt),
  );
  const from = sql`from ${deviceTokens} inner join ${devices} on ${devices.id} = ${deviceTokens.deviceId} where ${holds}`;
  return {
    key: null,
    account: sql`(select ${devices.accountId} ${from})`,
    device: sql`(select ${devices.id} ${from})`,
    statements: [
      proofStatement(db, proof),
      db
        .select({
          id: devices.id,
          name: devices.name,
          accountId: devices.accountId,
          usedAt: devices.lastSeenAt,
        })
        .from(deviceTokens)
        .innerJoin(devices, eq(devices.id, deviceTokens.deviceId))
        .where(holds),
    ],
    scopes: DEVICE_SCOPES,
    refusal: 'This device token is not known here, has expired or its device was revoked; ask for a new one.',
    markUsed: (id) => db.update(devices).set({ lastSeenAt: now }).where(eq(devices.id, id)).run(),
  };
}

function lookUpSession(db: Database, { hash }: SessionClaim, now: number): Lookup {
  const holds = and(eq(sessions.hash, hash), isNull(sessions.revokedAt), gt(sessions.expiresAt, now));
  return {
    key: `session ${hash}`,
    account: sql`(select ${sessions.accountId} from ${sessions} where ${holds})`,
    device: null,
    statements: [
      db
        .select({
          id: sessions.id,
          name: sessions.browser,
          accountId: sessions.accountId,
          usedAt: sessions.lastUsedAt,
          verifiedAt: sessions.verifiedAt,
        })
        .from(sessions)
        .where(holds),
    ],
    scopes: Scope.options,
    refusal: 'This session has ended; sign in again.',
    markUsed: (id) => db.update(sessions).set(prolonged(now)).where(eq(sessions.id, id)).run(),
  };
}

function lookUpApplication(db: Database, { grant, accountId, scopes }: OAuthClaim, now: number): Lookup {
  const holds = and(
    eq(applications.id, grant),
    eq(applications.accountId, accountId),
    isNull(applications.revokedAt),
  );
  return {
    key: `grant ${grant}`,
    account: sql`(select ${applications.accountId} from ${applications} where ${holds})`,
    device: null,
    statements: [
      db
        .select({
          id: applications.id,
          name: applications.name,
          accountId: applications.accountId,
          usedAt: applications.lastUsedAt,
          readOnly: applications.readOnly,
        })
        .from(applications)
        .where(holds),
    ],
    scopes,
    refusal: 'This access token has expired or the application was disconnected; connect it again.',
    markUsed: (id) => db.update(applications).set({ lastUsedAt: now }).where(eq(applications.id, id)).run(),
  };
}
