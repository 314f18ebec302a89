import { exportJWK, generateKeyPair } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { RegistryError } from '../../../schema/errors.ts';
import { verifyProof } from '../../../worker/auth/dpop.ts';
import { createNonces, NONCE_LIFE_MS, type Nonces } from '../../../worker/auth/nonce.ts';
import { type ProofParts, TestDevice } from '../device.ts';

const URL_ = 'https://registry.test/api/v1/changes';
const SECRET = 'a secret key of more than 32 characters';

let device: TestDevice;
let nonces: Nonces;
let clock: number;

beforeEach(async () => {
  clock = 1_800_000_000_000;
  nonces = createNonces(SECRET, () => clock);
  device = await TestDevice.make();
  device.token = 'access-token-of-the-device';
  device.nonce = await nonces.make();
});

async function verify(parts: ProofParts = {}, url = URL_) {
  const request = new Request(url, { headers: await device.headers('GET', URL_, parts) });
  return verifyProof(request, nonces, device.token);
}

async function refusal(parts: ProofParts, url?: string): Promise<RegistryError> {
  const error = await verify(parts, url).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(RegistryError);
  expect((error as RegistryError).code).toBe('unauthorized');
  return error as RegistryError;
}

test('a proof names its key and is remembered for longer than its nonce lives', async () => {
  const proof = await verify({ jti: 'one' });
  expect(proof).toEqual({
    jwk: device.jwk,
    thumbprint: device.thumbprint,
    jti: 'one',
    expiresAt: clock + NONCE_LIFE_MS + 60_000,
  });
});

test('query and fragment do not count', async () => {
  await expect(verify({}, `${URL_}?since=a:1`)).resolves.toMatchObject({ thumbprint: device.thumbprint });
});

test.each([-90, 90, -86_400, 86_400])(
  'check 26: a clock that is %i s off connects: the time of the nonce counts',
  async (off) => {
    await expect(verify({ iat: clock / 1000 + off })).resolves.toMatchObject({
      thumbprint: device.thumbprint,
    });
  },
);

describe('check 26: refused, and no nonce would help', () => {
  test.each<[string, ProofParts, string?]>([
    ['another URL', { url: 'https://registry.test/api/v1/items' }],
    ['another origin', { url: 'https://other.test/api/v1/changes' }],
    ['another method', { method: 'POST' }],
    ['another access token', { ath: 'fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo' }],
    ['no access token', { ath: null }],
    ['another type', { typ: 'jwt' }],
    ['an empty id', { jti: '' }],
    ['a long id', { jti: 'x'.repeat(129) }],
    ['no URL at all', { url: 'changes' }],
  ])('a proof for %s', async (_, parts) => {
    expect((await refusal(parts)).details.nonce).toBeUndefined();
  });

  test('a proof that carries the private key', async () => {
    await refusal({ jwk: await exportJWK(device.key) });
  });

  test('a proof that names another key than the one that signed', async () => {
    await refusal({ jwk: (await TestDevice.make()).jwk });
  });

  test('another curve', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES384', { extractable: true });
    await refusal({ alg: 'ES384', key: privateKey, jwk: await exportJWK(publicKey) });
  });

  test('two proofs, one of which holds', async () => {
    const headers = await device.headers('GET', URL_);
    const request = new Request(URL_, { headers: { ...headers, dpop: `${headers.dpop}, ${headers.dpop}` } });
    await expect(verifyProof(request, nonces, device.token)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('no proof', async () => {
    const request = new Request(URL_, { headers: { authorization: `DPoP ${device.token}` } });
    await expect(verifyProof(request, nonces, device.token)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

describe('check 26: refused with a nonce to use instead', () => {
  async function retried(parts: ProofParts): Promise<void> {
    const { details } = await refusal(parts);
    device.nonce = details.nonce ?? null;
    await expect(verify()).resolves.toMatchObject({ thumbprint: device.thumbprint });
  }

  test('no nonce', () => retried({ nonce: null }));

  test('one that is too old', async () => {
    const old = device.nonce;
    clock += NONCE_LIFE_MS;
    await expect(verify()).resolves.toMatchObject({ thumbprint: device.thumbprint });
    clock += 1;
    await retried({ nonce: old });
  });

  test('one of another registry', async () =>
    retried({ nonce: await createNonces('another secret key of 32 characters', () => clock).make() }));

  test('one whose time was changed', async () =>
    retried({ nonce: device.nonce?.replace(/^[^.]*/, (clock + 1).toString(36)) ?? '' }));
});
