import {
  base64url,
  type CompactJWSHeaderParameters,
  calculateJwkThumbprint,
  compactVerify,
  importJWK,
} from 'jose';
import { z } from 'zod';
import { PublicJwk } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Proof } from '../registry/proof.ts';
import { NONCE_LIFE_MS, type Nonces } from './nonce.ts';

const PROOF_LENGTH = 4096;
/** Clocks of two machines that serve the same registry may differ by so much. */
const OWN_SKEW_MS = 60_000;

const Claims = z.object({
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  jti: z.string().min(1).max(128),
  ath: z.string().optional(),
  nonce: z.string().optional(),
});

/**
 * Checks the DPoP proof of a request by RFC 9449 section 4.3, save for its first use, which the database tells
 * (`registry/proof.ts`). `token` is the access token that the proof must be bound to, null where there is none yet.
 * The nonce is obligatory, and its time counts in place of `iat`: how old a proof is does not depend on the device's
 * clock.
 * @throws RegistryError `unauthorized`; with `details.nonce` when a new proof with that nonce would do
 */
export async function verifyProof(request: Request, nonces: Nonces, token: string | null): Promise<Proof> {
  const header = request.headers.get('dpop');
  if (header === null)
    throw refused('This request needs a DPoP header with a proof of the device key; sign one and send it.');
  const { jwk, claims } = await verifySignature(header);
  if (claims.htm !== request.method || bareUrl(claims.htu) !== bareUrl(request.url))
    throw refused('This DPoP proof was signed for another request; sign one for this method and URL.');
  if (token !== null && claims.ath !== (await hash(token)))
    throw refused('This DPoP proof was signed for another access token; sign one for the token sent.');
  const madeAt = claims.nonce === undefined ? null : await nonces.timeOf(claims.nonce);
  if (madeAt === null) {
    throw new RegistryError(
      'unauthorized',
      'This DPoP proof has no nonce of this registry, or one that is too old; sign a new one with the nonce given.',
      { nonce: await nonces.make() },
    );
  }
  return {
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
    jti: claims.jti,
    expiresAt: madeAt + NONCE_LIFE_MS + OWN_SKEW_MS,
  };
}

async function verifySignature(proof: string): Promise<{ jwk: PublicJwk; claims: z.infer<typeof Claims> }> {
  if (proof.length > PROOF_LENGTH)
    throw refused('This DPoP proof is too long; sign one with the usual claims.');
  try {
    const { payload, protectedHeader } = await compactVerify(proof, embeddedKey, { algorithms: ['ES256'] });
    return {
      jwk: publicKey(protectedHeader),
      claims: Claims.parse(JSON.parse(new TextDecoder().decode(payload))),
    };
  } catch (cause) {
    throw refused(
      'This DPoP proof does not hold: it must be a dpop+jwt signed by the P-256 key that it names.',
      { cause },
    );
  }
}

function embeddedKey(header: CompactJWSHeaderParameters) {
  if (header.typ !== 'dpop+jwt') throw new TypeError('typ');
  return importJWK(publicKey(header), 'ES256');
}

function publicKey({ jwk }: CompactJWSHeaderParameters): PublicJwk {
  if (jwk && 'd' in jwk) throw new TypeError('private key');
  return PublicJwk.parse(jwk);
}

function bareUrl(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

async function hash(token: string): Promise<string> {
  return base64url.encode(
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))),
  );
}

function refused(message: string, options?: ErrorOptions): RegistryError {
  return new RegistryError('unauthorized', message, {}, options);
}
