import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Claim } from '../registry/claim.ts';
import { isLoopback } from './loopback.ts';

/** Holds a session's secret. */
export const SESSION_COOKIE = 'repertoire';
/** Tells the browser that was asked to prove something from every other one, before it is signed in. */
export const LOGIN_COOKIE = 'repertoire-login';

const SECRET = /^[\w-]{43}$/;
const READING: readonly string[] = ['GET', 'HEAD'];

/**
 * A cookie's name on the wire. Under the prefix `__Host-` browsers take it over https from this very host only, so that no
 * sub-domain can set it (RFC 6265bis section 4.1.3.2). On a person's own machine there is no https.
 */
export function cookieName(request: Request, name: string): string {
  return isPlainLoopback(request) ? name : `__Host-${name}`;
}

/** A `Set-Cookie` header. 0 seconds take the cookie away. */
export function cookieHeader(request: Request, name: string, value: string, seconds: number): string {
  const secure = isPlainLoopback(request) ? '' : ' Secure;';
  return `${cookieName(request, name)}=${value}; Path=/; HttpOnly;${secure} SameSite=Lax; Max-Age=${seconds}`;
}

/** SHA-256 of the secret in one of our cookies; null when there is none, or two, of which one is somebody else's. */
export async function cookieHash(request: Request, name: string): Promise<string | null> {
  const start = `${cookieName(request, name)}=`;
  const values = (request.headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
  const [secret = ''] = values;
  return values.length === 1 && SECRET.test(secret) ? sha256(secret) : null;
}

/**
 * The session that a browser sends by itself; null where the request speaks for itself with `Authorization`. A request
 * that could write must come from a page of our own, since the browser adds the cookie whoever's page sends it.
 * @throws RegistryError `access_denied`
 */
export async function sessionClaim(
  request: Request,
): Promise<Extract<Claim, { readonly type: 'session' }> | null> {
  if (request.headers.has('authorization')) return null;
  const hash = await cookieHash(request, SESSION_COOKIE);
  if (hash === null) return null;
  if (!READING.includes(request.method) || request.headers.has('upgrade')) requireSameOrigin(request);
  return { type: 'session', hash };
}

/**
 * Refuses a request that does not say that it comes from a page of this very origin. A page whose form posts here needs
 * `Referrer-Policy: same-origin`: under `no-referrer` browsers send `Origin: null` with a form (Fetch section 3.2).
 * @throws RegistryError `access_denied`
 */
export function requireSameOrigin(request: Request): void {
  if (request.headers.get('origin') !== new URL(request.url).origin) throw foreign();
}

/**
 * Refuses what another site had the browser ask for. The cookie comes along with a link, and reading has effects too: to
 * look at a pairing code claims it.
 * @throws RegistryError `access_denied`
 */
export function requireOwnSite(request: Request): void {
  if (comesFromElsewhere(request)) throw foreign();
}

/** Whether the browser says that a page of another origin begins the request (Fetch Metadata section 2.2). */
export function comesFromElsewhere({ headers }: Request): boolean {
  return ['cross-site', 'same-site'].includes(headers.get('sec-fetch-site') ?? '');
}

function foreign(): RegistryError {
  return new RegistryError(
    'access_denied',
    'This request does not come from a page of this registry, so it was refused; use the page itself.',
  );
}

function isPlainLoopback({ url }: Request): boolean {
  return new URL(url).protocol === 'http:' && isLoopback(url);
}
