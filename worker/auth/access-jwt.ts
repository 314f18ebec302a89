import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import { RegistryError } from '../../schema/errors.ts';
import { logged } from '../log.ts';
import { ProvenIdentity } from '../registry/identities.ts';
import type { AccessSettings, SignIn } from './sign-in.ts';

/**
 * Whom Cloudflare Access vouches for, by the JWT that it adds to a request. The header alone says nothing: without
 * Access in front anybody can send it, so the token must be the team's, for this application, and be signed.
 * Source: developers.cloudflare.com, "Validate JWTs".
 * @throws RegistryError `access_denied` when it vouches for nobody, `unavailable` when the team's keys are not to be had
 */
export async function proveAccess(
  { issuer, audience }: AccessSettings,
  { signIn: { fetch }, now }: { readonly signIn: Pick<SignIn, 'fetch'>; readonly now: () => number },
  request: Request,
): Promise<ProvenIdentity> {
  const token = request.headers.get('cf-access-jwt-assertion');
  if (token === null) throw refused();
  // Asked anew each time, since people sign in rarely and the keys change every few weeks.
  const keys = createRemoteJWKSet(new URL('/cdn-cgi/access/certs', issuer), { [customFetch]: fetch });
  try {
    await keys.reload();
  } catch (cause) {
    logged(cause);
    throw new RegistryError(
      'unavailable',
      'The keys of Cloudflare Access could not be read; try again, or sign in with your passkey.',
      {},
      { cause },
    );
  }
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: ['RS256'],
      issuer,
      audience,
      requiredClaims: ['sub', 'exp', 'iat'],
      currentDate: new Date(now()),
    });
    const { sub, email } = payload;
    // A service token has an empty subject, which names nobody.
    return ProvenIdentity.parse({ issuer, subject: sub, name: email ?? sub });
  } catch (cause) {
    throw refused({ cause });
  }
}

function refused(options?: ErrorOptions): RegistryError {
  return new RegistryError(
    'access_denied',
    'Cloudflare Access does not vouch for you here; open this page through Access, or sign in with your passkey.',
    {},
    options,
  );
}
