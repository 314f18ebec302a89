import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Database } from '../db/client.ts';
import type { Claim } from '../registry/claim.ts';
import { verifyProof } from './dpop.ts';
import type { Nonces } from './nonce.ts';
import { oauthClaim } from './oauth-server.ts';

/** Every API token begins with it, so that one that leaks is recognised. */
const API_TOKEN = /^sk_[\w-]{20,200}$/;
const DEVICE_TOKEN = /^[\w-]{20,200}$/;

/**
 * Whom a request claims to come from, proven as far as that goes without its account's rows: that part is `Context`'s.
 * The scheme of its one `Authorization` header decides. A token anywhere else, such as in the query, is none.
 * @throws RegistryError `unauthorized`
 */
export async function authenticate(
  request: Request,
  deps: { nonces: Nonces; db: Database; now: () => number },
): Promise<Claim> {
  const header = request.headers.get('authorization');
  if (header === null) {
    throw new RegistryError(
      'unauthorized',
      'This needs a credential: send an API token as "Authorization: Bearer sk_…", or a paired device\'s token with its proof.',
    );
  }
  const [, scheme = '', credential = ''] = /^([\w-]+) +(\S+)$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'dpop':
      if (!DEVICE_TOKEN.test(credential)) break;
      return {
        type: 'device',
        tokenHash: await sha256(credential),
        proof: await verifyProof(request, deps.nonces, credential),
      };
    case 'bearer':
      if (API_TOKEN.test(credential)) return { type: 'token', hash: await sha256(credential) };
      return applicationClaim(request, credential, deps);
  }
  throw new RegistryError(
    'unauthorized',
    'This credential is neither an API token (Bearer sk_…) nor a device token (DPoP, with its proof); send one of them.',
  );
}

async function applicationClaim(...args: Parameters<typeof oauthClaim>): Promise<Claim> {
  const claim = await oauthClaim(...args);
  if (claim) return claim;
  throw new RegistryError(
    'unauthorized',
    'This token is neither an API token (sk_…) nor an access token for this address, or it has expired; sign in again.',
  );
}
