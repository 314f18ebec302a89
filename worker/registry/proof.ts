import { lt } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { PublicJwk } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { brokenConstraint, type Statement } from '../db/client.ts';
import { proofs } from '../db/tables/devices.ts';
import type { Surroundings } from './context.ts';

/** A DPoP proof (RFC 9449) whose signature, URL, method, age and nonce hold; only its first use is still to be shown. */
export interface Proof {
  readonly jwk: PublicJwk;
  /** RFC 7638 thumbprint of the key that signed. */
  readonly thumbprint: string;
  readonly jti: string;
  /** Until when the same id must not be seen again, milliseconds. */
  readonly expiresAt: number;
}

/** Marks the proof as used, in one transaction with the statements that follow. */
export function proofStatement(
  db: Surroundings['db'],
  { thumbprint, jti, expiresAt }: Omit<Proof, 'jwk'>,
): Statement {
  return db.insert(proofs).values({ thumbprint, jti, expiresAt });
}

/** The refusal that a failed batch stands for when the proof was seen before; any other error as it is. */
export function proofError(error: unknown): unknown {
  if (!brokenConstraint(error)?.startsWith('UNIQUE proofs.')) return error;
  return new RegistryError(
    'unauthorized',
    'This DPoP proof was used before; sign a new one for each request.',
  );
}

/**
 * For callers that have a key but no account yet: marks the proof as used and runs statements, in one round trip. Proofs
 * too old to be accepted are forgotten on the way, so that strangers with keys cannot fill the table.
 * @throws RegistryError `unauthorized` when the proof was seen before
 */
export async function batchWithProof<U extends Statement, T extends Readonly<[U, ...U[]]>>(
  { db, now }: Surroundings,
  proof: Proof,
  statements: T,
): Promise<BatchResponse<T>> {
  try {
    const entry = [db.delete(proofs).where(lt(proofs.expiresAt, now())), proofStatement(db, proof)];
    const results: unknown[] = await db.batch([...entry, ...statements] as unknown as [Statement]);
    return results.slice(entry.length) as BatchResponse<T>;
  } catch (error) {
    throw proofError(error);
  }
}
