import { base64url } from 'jose';

const IV_BYTES = 12;

/** Text under a key that only `secret` yields, so that whoever reads the database reads nothing. `use` tells keys apart. */
export async function seal(text: string, use: string, secret: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv },
    await keyOf(use, secret),
    new TextEncoder().encode(text),
  );
  return `${base64url.encode(iv)}.${base64url.encode(new Uint8Array(sealed))}`;
}

/** What was sealed; null under any other secret. */
export async function unseal(sealed: string, use: string, secret: string): Promise<string | null> {
  const [iv = '', text = ''] = sealed.split('.');
  try {
    const opened = await crypto.subtle.decrypt(
      { name: 'AES-GCM', iv: bytes(iv) },
      await keyOf(use, secret),
      bytes(text),
    );
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
}

async function keyOf(use: string, secret: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'HKDF', false, [
    'deriveKey',
  ]);
  const derivation = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: new TextEncoder().encode(use),
  };
  return crypto.subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ]);
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return base64url.decode(text) as Uint8Array<ArrayBuffer>;
}
