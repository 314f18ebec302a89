import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Scope } from '../../schema/api.ts';
import type { Database, Statement } from '../db/client.ts';
import { devices, deviceTokens, tokens } from '../db/tables.ts';
import { type Proof, proofStatement } from './proof.ts';

/** What a request claims to be, proven as far as that goes without the database. */
export type Claim = TokenClaim | DeviceClaim;

interface TokenClaim {
  readonly type: 'token';
  readonly hash: string;
}

interface DeviceClaim {
  readonly type: 'device';
  readonly tokenHash: string;
  readonly proof: Proof;
}

/** Whom a credential that holds belongs to. */
export interface Holder {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  /** Absent where they are the same for all of this type. */
  readonly scopes?: readonly Scope[];
  readonly usedAt: number | null;
}

/** How a claim is confirmed. Its sub-queries yield nothing for a credential that does not hold. */
interface Lookup {
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
  }
}

function lookUpToken(db: Database, { hash }: TokenClaim, now: number): Lookup {
  const holds = and(
    eq(tokens.hash, hash),
    isNull(tokens.revokedAt),
    or(isNull(tokens.expiresAt), gt(tokens.expiresAt, now)),
  );
  return {
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
