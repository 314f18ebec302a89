import { RegistryError } from '../../schema/errors.ts';

/**
 * Keeps what the registry must be able to say again, such as a token for another server: AES-256-GCM under a key that
 * HKDF (RFC 5869) makes of the Worker's secret. `owner` is bound in, so that a sealed text opens where it was sealed
 * for only.
 */
export interface Vault {
  seal(text: string, owner: string): Promise<string>;
  /** @throws RegistryError `unavailable` when it was sealed under another secret or for another owner */
  open(sealed: string, owner: string): Promise<string>;
}

const IV_BYTES = 12;

export function createVault(secretKey: string): Vault {
  let key: Promise<CryptoKey> | null = null;
  const encode = (text: string) => new TextEncoder().encode(text);
  const derive = async () => {
    const material = await crypto.subtle.importKey('raw', encode(secretKey), 'HKDF', false, ['deriveKey']);
    const hkdf = {
      name: 'HKDF',
      hash: 'SHA-256',
      salt: new Uint8Array(),
      info: encode('repertoire servers'),
    };
    return crypto.subtle.deriveKey(hkdf, material, { name: 'AES-GCM', length: 256 }, false, [
      'encrypt',
      'decrypt',
    ]);
  };
  const use = () => {
    key ??= derive();
    return key;
  };
  return {
    async seal(text, owner) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const algorithm = { name: 'AES-GCM', iv, additionalData: encode(owner) };
      const sealed = new Uint8Array(await crypto.subtle.encrypt(algorithm, await use(), encode(text)));
      const bytes = new Uint8Array(IV_BYTES + sealed.length);
      bytes.set(iv);
      bytes.set(sealed, IV_BYTES);
      return toBase64(bytes);
    },
    async open(sealed, owner) {
      try {
        const bytes = fromBase64(sealed);
        const algorithm = {
          name: 'AES-GCM',
          iv: bytes.slice(0, IV_BYTES),
          additionalData: encode(owner),
        };
        return new TextDecoder().decode(
          await crypto.subtle.decrypt(algorithm, await use(), bytes.slice(IV_BYTES)),
        );
      } catch (cause) {
        throw new RegistryError(
          'unavailable',
          'The credential of this server cannot be read, because SECRET_KEY has changed; set the credential again.',
          {},
          { cause },
        );
      }
    },
  };
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
