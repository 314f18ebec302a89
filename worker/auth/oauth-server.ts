import {
  OAuthAuthorizationServer,
  type OAuthHelpers,
  type ValidatedAccessToken,
} from '@cloudflare/workers-oauth-provider';
import { Scope } from '../../schema/api.ts';
import type { Database } from '../db/client.ts';
import type { Claim } from '../registry/claim.ts';
import { MCP_SCOPES } from './challenge.ts';
import { OAuthStore } from './oauth-store.ts';
import { issuerOf, resourceOf } from './resource.ts';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/** Longest names and lists that a client may register: people read them. */
export const CLIENT_LIMITS = { name: 200, redirects: 20, redirect: 2000 } as const;

/** The OAuth library for one request. */
export interface OAuth {
  /** The endpoints of programs: metadata, token and revocation, registration. */
  fetch(request: Request): Promise<Response>;
  /** What the pages for people are made with. */
  readonly api: OAuthHelpers;
  validateToken(resource: string, token: string): Promise<ValidatedAccessToken | null>;
  /** Why the library refused, in its own words; undefined when it did not. */
  refusal(): string | undefined;
}

/** @param resource what the request is about, where that is not `/mcp` */
export function openOAuth(store: OAuthStore, issuer: string, resource: string | null = null): OAuth {
  const main = `${issuer}/mcp`;
  let refusal: string | undefined;
  const server = new OAuthAuthorizationServer<{ OAUTH_KV: OAuthStore }>({
    issuer,
    authorizeEndpoint: '/authorize',
    tokenEndpoint: '/token',
    clientRegistrationEndpoint: '/register',
    resources: [...new Set([main, resource ?? main])],
    defaultResource: main,
    scopesSupported: [...MCP_SCOPES],
    // Some hosts refresh unreliably, and revoking does not wait for a token to expire: every call asks the registry.
    accessTokenTTL: 24 * HOUR_S,
    refreshTokenTTL: 90 * DAY_S,
    refreshTokenIdleTTL: 90 * DAY_S,
    // A client may list what it never uses, as Cursor does; what a request uses is judged at `/authorize`.
    allowPrivateUseRedirectUris: true,
    clientRegistrationCallback: ({ clientMetadata }) => refuseOversize(clientMetadata),
    onError: ({ internal }) => {
      refusal = internal.reason;
    },
    ...FOR_EVER,
  });
  const bindings = { OAUTH_KV: store };
  return {
    fetch: (request) => server.fetch(request, bindings, NO_CONTEXT),
    api: server.getOAuthApi(bindings),
    validateToken: (...token) => server.validateToken(...token, bindings),
    refusal: () => refusal,
  };
}

/** An authorization server by itself makes no use of it. */
const NO_CONTEXT = {} as ExecutionContext;

/** Registrations end when nothing uses them (`registry/oauth-purge.ts`). The library wants this said by `undefined`. */
const FOR_EVER = { clientRegistrationTTL: undefined } as object;

function refuseOversize({ client_name: name, redirect_uris: redirects }: Record<string, unknown>) {
  if (typeof name === 'string' && name.length > CLIENT_LIMITS.name)
    return { description: `client_name has more than ${CLIENT_LIMITS.name} characters` };
  if (!Array.isArray(redirects)) return;
  if (redirects.length > CLIENT_LIMITS.redirects)
    return { description: `redirect_uris has more than ${CLIENT_LIMITS.redirects} entries` };
  if (redirects.some((uri) => String(uri).length > CLIENT_LIMITS.redirect))
    return { description: `a redirect URI has more than ${CLIENT_LIMITS.redirect} characters` };
}

/** `account:grant:secret`, as the library makes them. */
const ACCESS_TOKEN = /^[0-9a-f]{32}:[\w-]{16}:[\w-]{32}$/;

/** The claim of an access token, null where it is not valid for the resource that is called: no resource takes another's. */
export async function oauthClaim(
  request: Request,
  token: string,
  { db, now }: { db: Database; now: () => number },
): Promise<Claim | null> {
  const resource = resourceOf(request.url);
  if (resource === null || !ACCESS_TOKEN.test(token)) return null;
  const oauth = openOAuth(new OAuthStore(db, now), issuerOf(request.url), resource);
  const valid = await oauth.validateToken(resource, token);
  if (!valid) return null;
  return {
    type: 'oauth',
    grant: grantOf(token).grant,
    accountId: valid.userId,
    clientId: valid.clientId,
    scopes: valid.scope.flatMap((scope) => Scope.safeParse(scope).data ?? []),
  };
}

/** The grant that a code, an access or a refresh token says it belongs to. */
export function grantOf(token: string): { accountId: string; grant: string; key: string } {
  const [accountId = '', grant = ''] = token.split(':');
  return { accountId, grant, key: `grant:${accountId}:${grant}` };
}
