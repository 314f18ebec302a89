import { hash, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { z } from 'zod';
import { PublicJwk } from '../schema/api.ts';
import { readJson, writeJson } from './json-file.ts';

/** What one DPoP proof is for (RFC 9449 section 4.2). */
interface ProofInput {
  method: string;
  /** Its query and fragment are left out of the proof. */
  url: string;
  /** Access token that the request carries. */
  token?: string | undefined;
  /** From the registry's last answer. */
  nonce?: string | undefined;
  /** Milliseconds since the epoch. The registry judges a proof's age by its nonce, so that a wrong clock does no harm. */
  at: number;
}

export interface DeviceKey {
  /** RFC 7638, base64url. */
  thumbprint: string;
  /** Signs a proof: a compact JWT for the `DPoP` header. */
  proof(input: ProofInput): Promise<string>;
}

const PrivateJwk = PublicJwk.extend({ d: z.string() });
type PrivateJwk = z.infer<typeof PrivateJwk>;

/** Makes a new P-256 key and keeps it in a file that only this user may read. */
export async function createDeviceKey(path: string): Promise<DeviceKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = PrivateJwk.parse(await exportJWK(privateKey));
  writeJson(path, jwk);
  return deviceKey(jwk);
}

/** Reads the key from its file; null when there is none. */
export async function readDeviceKey(path: string): Promise<DeviceKey | null> {
  const jwk = readJson(path, PrivateJwk);
  return jwk && deviceKey(jwk);
}

async function deviceKey(jwk: PrivateJwk): Promise<DeviceKey> {
  const privateKey = await importJWK(jwk, 'ES256');
  const publicJwk: PublicJwk = { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y };
  return {
    thumbprint: await calculateJwkThumbprint(publicJwk),
    proof({ method, url, token, nonce, at }) {
      const { origin, pathname } = new URL(url);
      const claims = {
        htm: method,
        htu: origin + pathname,
        ...(token === undefined ? {} : { ath: hash('sha256', token, 'base64url') }),
        ...(nonce === undefined ? {} : { nonce }),
      };
      return new SignJWT(claims)
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk })
        .setJti(randomUUID())
        .setIssuedAt(Math.floor(at / 1000))
        .sign(privateKey);
    },
  };
}
