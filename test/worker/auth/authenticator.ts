import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

/** Ways in which an authenticator, or the browser before it, can lie or be misled. */
export interface Tweaks {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  userVerified?: boolean;
  userPresent?: boolean;
  counter?: number;
  userHandle?: string | null;
  /** Signs something else. */
  badSignature?: boolean;
  /** Claims this credential, with its own key. */
  id?: string;
}

interface Credential {
  id: string;
  rpId: string;
  key: KeyObject;
  /** As the page gave it, base64url. */
  user: string;
  counter: number;
}

// biome-ignore lint/suspicious/noExplicitAny: what a page hands to the browser, as JSON
type Options = any;

/** A WebAuthn authenticator and the browser before it, in software. Honest, unless told otherwise. */
export class Authenticator {
  readonly origin: string;
  readonly credentials: Credential[] = [];
  /** Authenticators that sync their passkeys do not count. */
  counts = true;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** `navigator.credentials.create` */
  create(options: Options, tweaks: Tweaks = {}) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const credential: Credential = {
      id: randomBytes(32).toString('base64url'),
      rpId: tweaks.rpId ?? options.rp.id,
      key: privateKey,
      user: options.user.id,
      counter: 0,
    };
    this.credentials.push(credential);
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const id = Buffer.from(credential.id, 'base64url');
    const authData = Buffer.concat([
      authenticatorData(credential.rpId, 0x40, 0, tweaks),
      Buffer.alloc(16),
      Buffer.from([id.length >> 8, id.length & 255]),
      id,
      // COSE_Key of ES256 on P-256 (RFC 9053 section 7.1.1).
      cbor(
        new Map<number, unknown>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, Buffer.from(x, 'base64url')],
          [-3, Buffer.from(y, 'base64url')],
        ]),
      ),
    ]);
    const attestationObject = cbor(
      new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]),
    );
    return {
      id: credential.id,
      rawId: credential.id,
      type: 'public-key',
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, tweaks).toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: { credProps: { rk: true } },
    };
  }

  /** `navigator.credentials.get` with the newest passkey of the site, or with the one named. */
  get(options: Options, tweaks: Tweaks = {}, named?: string) {
    const credential = this.credentials.findLast(
      ({ id, rpId }) => rpId === options.rpId && (named === undefined || id === named),
    );
    if (!credential) throw new Error(`There is no passkey for ${options.rpId}.`);
    if (this.counts) credential.counter++;
    const id = tweaks.id ?? credential.id;
    const authData = authenticatorData(tweaks.rpId ?? credential.rpId, 0, credential.counter, tweaks);
    const clientData = this.#clientData('webauthn.get', options.challenge, tweaks);
    const signer = createSign('sha256')
      .update(authData)
      .update(createHash('sha256').update(clientData).digest());
    if (tweaks.badSignature) signer.update('something else');
    const userHandle = tweaks.userHandle === undefined ? credential.user : tweaks.userHandle;
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signer.sign(credential.key).toString('base64url'),
        ...(userHandle === null ? {} : { userHandle }),
      },
      clientExtensionResults: {},
    };
  }

  #clientData(type: string, challenge: string, tweaks: Tweaks): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: tweaks.type ?? type,
        challenge: tweaks.challenge ?? challenge,
        origin: tweaks.origin ?? this.origin,
        crossOrigin: tweaks.crossOrigin ?? false,
      }),
    );
  }
}

/** WebAuthn Level 3 section 6.1, without attested data. */
function authenticatorData(
  rpId: string,
  more: number,
  counted: number,
  { userVerified = true, userPresent = true, counter = counted }: Tweaks,
): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const flags = more | (userPresent ? 0x01 : 0) | (userVerified ? 0x04 : 0);
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), count]);
}

/** As much of CBOR (RFC 8949) as an attestation needs. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map)
    return Buffer.concat([
      head(5, value.size),
      ...[...value].flatMap(([key, item]) => [cbor(key), cbor(item)]),
    ]);
  throw new Error('This is no CBOR that an attestation needs.');
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
