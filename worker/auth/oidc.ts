import { RegistryError } from '../../schema/errors.ts';
import { logged } from '../log.ts';
import { ProvenIdentity } from '../registry/identities.ts';
import type { OidcSettings, SignIn } from './sign-in.ts';

const TIMEOUT_S = 10;

/** What a browser is sent away with, and must come back with. All but the address stays here. */
interface OidcRequest {
  readonly url: URL;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The part of the Worker's `Deps` that is needed. */
interface Around {
  readonly signIn: Pick<SignIn, 'fetch'>;
  readonly now: () => number;
}

/**
 * An authorization request of the code flow with PKCE (OpenID Connect Core 1.0 section 3.1.2.1, RFC 7636).
 * @throws RegistryError `unavailable` when the issuer does not answer as one
 */
export async function requestOidc(
  settings: OidcSettings,
  around: Around,
  redirectUri: string,
): Promise<OidcRequest> {
  const { oidc, config } = await discover(settings, around);
  const state = oidc.randomState();
  const nonce = oidc.randomNonce();
  const verifier = oidc.randomPKCECodeVerifier();
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid email',
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url, state, nonce, verifier };
}

/**
 * Whom the issuer vouches for, by the address that a browser came back to. The code is exchanged, and the ID token
 * judged by all of OpenID Connect Core 1.0 section 3.1.3.7, its signature included.
 * @throws RegistryError `access_denied` when it vouches for nobody, `unavailable` when it does not answer as an issuer
 */
export async function proveOidc(
  settings: OidcSettings,
  around: Around,
  callback: URL,
  { state, nonce, verifier }: Omit<OidcRequest, 'url'>,
): Promise<ProvenIdentity> {
  const { oidc, config } = await discover(settings, around);
  try {
    const tokens = await oidc.authorizationCodeGrant(config, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    return ProvenIdentity.parse({
      issuer: claims?.iss,
      subject: claims?.sub,
      name: claims?.email ?? claims?.preferred_username ?? claims?.sub,
    });
  } catch (cause) {
    if (!(cause instanceof oidc.AuthorizationResponseError)) logged(cause);
    throw new RegistryError(
      'access_denied',
      `${settings.name} did not vouch for you, or its answer does not hold; start again, or sign in with your passkey.`,
      {},
      { cause },
    );
  }
}

/** Asked anew each time: people sign in rarely, and keys and addresses of an issuer change. */
async function discover(
  { issuer, clientId, clientSecret, name }: OidcSettings,
  { signIn: { fetch }, now }: Around,
) {
  // Most requests never come here, and the library is large.
  const oidc = await import('openid-client');
  try {
    const config = await oidc.discovery(
      new URL(issuer),
      clientId,
      { [oidc.clockSkew]: (now() - Date.now()) / 1000 },
      clientSecret === null ? oidc.None() : secretAuth(oidc, clientSecret),
      {
        [oidc.customFetch]: (url, { body, ...init }) =>
          fetch(url, { ...init, body: body as NonNullable<RequestInit['body']> }),
        timeout: TIMEOUT_S,
        // Else a token that comes straight from the issuer is believed without its signature, as the standard allows.
        execute: [oidc.enableNonRepudiationChecks],
      },
    );
    return { oidc, config };
  } catch (cause) {
    logged(cause);
    throw new RegistryError(
      'unavailable',
      `${name} does not answer as an OpenID Connect issuer; try again, or sign in with your passkey.`,
      {},
      { cause },
    );
  }
}

/** An issuer that names no method takes Basic (OpenID Connect Discovery 1.0 section 3). */
function secretAuth(
  oidc: typeof import('openid-client'),
  secret: string,
): import('openid-client').ClientAuth {
  return (server, ...rest) => {
    const posts = server.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    (posts ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret))(server, ...rest);
  };
}
