import { RegistryError } from '../../schema/errors.ts';
import type { Env } from '../env.ts';

/** Sign-in by others than a passkey, as it was configured; null for what was not. */
export interface SignIn {
  readonly oidc: OidcSettings | null;
  readonly access: AccessSettings | null;
  /** How these two are reached: the Worker's own `fetch`, save in tests. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
}

/** An OpenID Connect issuer, and what this registry is there. */
export interface OidcSettings {
  /** Issuer identifier (OpenID Connect Discovery 1.0 section 3), https. */
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which PKCE alone protects. */
  readonly clientSecret: string | null;
  /** What people call it; shown on the button. */
  readonly name: string;
}

/** A Cloudflare Access application that stands before the pages for people. */
export interface AccessSettings {
  /** Origin of the team domain: the issuer of its tokens. */
  readonly issuer: string;
  /** The application's AUD tag. */
  readonly audience: string;
}

/** Settings that are set by half would let nobody in, and say nothing. @throws RegistryError `unavailable` */
export function signInOf(env: Env, fetch: SignIn['fetch']): SignIn {
  return { oidc: oidcOf(env), access: accessOf(env), fetch };
}

function oidcOf({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME }: Env): OidcSettings | null {
  if (!OIDC_ISSUER && !OIDC_CLIENT_ID) return null;
  if (!OIDC_ISSUER || !OIDC_CLIENT_ID)
    throw misconfigured('OIDC_ISSUER and OIDC_CLIENT_ID belong together; set both or neither.');
  const url = URL.canParse(OIDC_ISSUER) ? new URL(OIDC_ISSUER) : null;
  // Given the discovery document's own address, openid-client would not compare the issuer that it names.
  if (url?.protocol !== 'https:' || url.search || url.hash || url.href.includes('/.well-known/')) {
    throw misconfigured(
      'OIDC_ISSUER is no issuer identifier; set it to the https address to which /.well-known/openid-configuration is added.',
    );
  }
  return {
    issuer: url.href,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET || null,
    name: OIDC_NAME || url.hostname,
  };
}

function accessOf({ ACCESS_TEAM_DOMAIN, ACCESS_AUD }: Env): AccessSettings | null {
  if (!ACCESS_TEAM_DOMAIN && !ACCESS_AUD) return null;
  if (!ACCESS_TEAM_DOMAIN || !ACCESS_AUD)
    throw misconfigured('ACCESS_TEAM_DOMAIN and ACCESS_AUD belong together; set both or neither.');
  const [, team] =
    /^(?:https:\/\/)?([a-z0-9-]+)(?:\.cloudflareaccess\.com)?\/?$/.exec(ACCESS_TEAM_DOMAIN) ?? [];
  if (!team)
    throw misconfigured('ACCESS_TEAM_DOMAIN is no team domain; set it to TEAM.cloudflareaccess.com.');
  return { issuer: `https://${team}.cloudflareaccess.com`, audience: ACCESS_AUD };
}

function misconfigured(sentence: string): RegistryError {
  return new RegistryError('unavailable', sentence);
}
