import { randomUUID } from 'node:crypto';
import { base64url, type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';

export interface ProofParts {
  method?: string;
  url?: string;
  jti?: string;
  iat?: number;
  nonce?: string | null;
  ath?: string | null;
  typ?: string;
  jwk?: object;
  key?: CryptoKey;
  alg?: string;
}

/** A device as the registry meets it: a P-256 key, and DPoP proofs by it. */
export class TestDevice {
  readonly key: CryptoKey;
  readonly jwk: object;
  readonly thumbprint: string;
  token: string | null = null;
  nonce: string | null = null;
  /** How far its clock is off, seconds. */
  skew = 0;

  private constructor(key: CryptoKey, jwk: object, thumbprint: string) {
    this.key = key;
    this.jwk = jwk;
    this.thumbprint = thumbprint;
  }

  static async make(): Promise<TestDevice> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const { kty, crv, x, y } = await exportJWK(publicKey);
    const jwk = { kty, crv, x, y };
    return new TestDevice(privateKey, jwk, await calculateJwkThumbprint(jwk as never));
  }

  /** A proof for a request, right unless told otherwise. */
  async proof(method: string, url: string, parts: ProofParts = {}): Promise<string> {
    const token = this.token === null ? null : base64url.encode(await digest(this.token));
    const { ath = token, nonce = this.nonce } = parts;
    const claims = {
      htm: parts.method ?? method,
      htu: parts.url ?? url.split(/[?#]/)[0],
      jti: parts.jti ?? randomUUID(),
      iat: parts.iat ?? Math.floor(Date.now() / 1000) + this.skew,
      ...(ath === null ? {} : { ath }),
      ...(nonce === null ? {} : { nonce }),
    };
    return await new SignJWT(claims)
      .setProtectedHeader({
        alg: parts.alg ?? 'ES256',
        typ: parts.typ ?? 'dpop+jwt',
        jwk: (parts.jwk ?? this.jwk) as never,
      })
      .sign(parts.key ?? this.key);
  }

  /** Headers of a request that the device signs, with its token where it has one. */
  async headers(method: string, url: string, parts: ProofParts = {}): Promise<Record<string, string>> {
    return {
      dpop: await this.proof(method, url, parts),
      ...(this.token === null ? {} : { authorization: `DPoP ${this.token}` }),
    };
  }
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}
