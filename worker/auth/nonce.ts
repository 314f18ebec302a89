import { base64url } from 'jose';

/** How long a nonce is good for. A proof's id is remembered for as long. */
export const NONCE_LIFE_MS = 10 * 60_000;

/** DPoP nonces (RFC 9449 section 8): the registry's own time under its own MAC, so that none is kept anywhere. */
export interface Nonces {
  make(): Promise<string>;
  /** When a nonce was made, milliseconds; null when it is none of ours or too old. */
  timeOf(nonce: string): Promise<number | null>;
}

export function createNonces(secretKey: string, now: () => number): Nonces {
  const key = crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secretKey),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  );
  // The label keeps this MAC apart from any other use of the same key.
  const message = (time: string) => new TextEncoder().encode(`dpop-nonce ${time}`);
  return {
    async make() {
      const time = now().toString(36);
      const mac = await crypto.subtle.sign('HMAC', await key, message(time));
      return `${time}.${base64url.encode(new Uint8Array(mac))}`;
    },
    async timeOf(nonce) {
      const match = /^([0-9a-z]{1,11})\.([\w-]{43})$/.exec(nonce);
      if (!match) return null;
      const [, time = '', mac = ''] = match;
      const made = Number.parseInt(time, 36);
      if (now() - made > NONCE_LIFE_MS) return null;
      const ours = await crypto.subtle.verify(
        'HMAC',
        await key,
        base64url.decode(mac) as Uint8Array<ArrayBuffer>,
        message(time),
      );
      return ours ? made : null;
    },
  };
}
