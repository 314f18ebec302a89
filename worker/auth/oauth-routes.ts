import { AuthorizationError } from '@cloudflare/workers-oauth-provider';
import { type Context as Call, Hono } from 'hono';
import { cors } from 'hono/cors';
import { RegistryError } from '../../schema/errors.ts';
import { consentPage } from '../dashboard/consent.tsx';
import { errorPage } from '../dashboard/error.tsx';
import { showError } from '../dashboard/pages.tsx';
import { pageHeaders } from '../dashboard/security-headers.ts';
import { visitor } from '../dashboard/visitor.ts';
import { type AppEnv, surroundings } from '../deps.ts';
import { takeAttempt } from '../registry/attempts.ts';
import { purgeOAuth } from '../registry/oauth-purge.ts';
import { StaleRecordError } from '../registry/oauth-records.ts';
import { arrived, bodyLimit } from '../size-limit.ts';
import { answer, ask, DeadEndError, type Decision } from './authorize.ts';
import { ClientDocumentError } from './client-document.ts';
import { oauthError } from './oauth-error.ts';
import { resourceMetadata, serverMetadata } from './oauth-metadata.ts';
import { openOAuth } from './oauth-server.ts';
import { OAuthStore } from './oauth-store.ts';
import { answerRevocation, answerToken, type TokenRequest } from './oauth-token.ts';
import { issuerOf, METADATA_PATH, resourceOf } from './resource.ts';
import { cookieName, requireSameOrigin } from './session.ts';

/** The OAuth 2.1 authorization server, at the root of the origin. */
export const oauth = new Hono<AppEnv>();

const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';
const FORM_BYTES = 64 * 1024;
const HOUR_MS = 3_600_000;
/** Hosts elsewhere register anew for each try of each of their users, all from a few addresses. */
const REGISTRATIONS = { place: 60, all: 600 } as const;
const DECISIONS: readonly string[] = ['allow', 'allow-read', 'deny'] satisfies Decision[];

// Clients may run in web pages. What they send is a token or a secret of their own, never a cookie.
const anywhere = cors({
  origin: (origin) => origin,
  allowHeaders: ['Authorization', 'Content-Type', 'MCP-Protocol-Version'],
  exposeHeaders: ['WWW-Authenticate', 'Retry-After'],
  maxAge: 86_400,
});
const small = bodyLimit(FORM_BYTES, () =>
  oauthError(413, 'invalid_request', `The body has more than ${FORM_BYTES} bytes`),
);

for (const place of ['', '/mcp', '/mcp/:server']) {
  oauth.use(SERVER_METADATA_PATH + place, anywhere);
  oauth.get(SERVER_METADATA_PATH + place, async (c) => {
    resourceAt(c, SERVER_METADATA_PATH);
    return c.json(await serverMetadata(issuerOf(c.req.url)));
  });
  oauth.use(METADATA_PATH + place, anywhere);
  oauth.get(METADATA_PATH + place, (c) => c.json(resourceMetadata(resourceAt(c, METADATA_PATH))));
}

for (const path of ['/token', '/revoke', '/register']) oauth.use(path, requireSecure, anywhere, small);

oauth.post('/token', async (c) => {
  const { db, now } = c.var.deps;
  const response = await answerToken(await tokenRequest(c), { db, now });
  purgeAfter(c, response);
  return response;
});

oauth.post('/revoke', async (c) => {
  return answerRevocation(await tokenRequest(c), c.var.deps);
});

/** RFC 7591. */
oauth.post('/register', async (c) => {
  const { db, now, place } = c.var.deps;
  try {
    for (const [bucket, max] of [
      [`register:${place(c.req.raw)}`, REGISTRATIONS.place],
      ['register', REGISTRATIONS.all],
    ] as const)
      await takeAttempt(db, { bucket, max, windowMs: HOUR_MS, now: now() });
  } catch (error) {
    if (!(error instanceof RegistryError) || error.code !== 'rate_limited') throw error;
    const wait = String(Math.ceil(error.details.retry_after_s ?? 60));
    return oauthError(429, 'temporarily_unavailable', 'Too many clients registered here; try again later', {
      'retry-after': wait,
    });
  }
  const store = new OAuthStore(db, now);
  const issuer = issuerOf(c.req.url);
  const request = new Request(`${issuer}/register`, { method: 'POST', body: await arrived(c.req.text()) });
  const response = await openOAuth(store, issuer).fetch(request);
  await store.commit();
  purgeAfter(c, response);
  return response;
});

oauth.use('/authorize', requireSecure);

oauth.get('/authorize', (c) =>
  onPage(c, async () => {
    const url = new URL(c.req.url);
    const issuer = issuerOf(c.req.url);
    const here = url.pathname + url.search;
    if (url.origin !== issuer) return c.redirect(issuer + here);
    const signedIn = await visitor(c);
    if (!signedIn) return c.redirect(`/login?next=${encodeURIComponent(here)}`);
    const { ctx, account } = signedIn;
    const { outbound } = c.var.deps;
    const { formTarget, cookies, ...question } = await ask(ctx, c.req.raw, { issuer, outbound });
    const page = consentPage({ ...question, account, mayWrite: true });
    return withCookies(c, cookies, await c.html(page, 200, formHeaders(formTarget)));
  }),
);

oauth.post('/authorize', small, (c) =>
  onPage(c, async () => {
    requireSameOrigin(c.req.raw);
    const signedIn = await visitor(c);
    if (!signedIn) {
      throw new DeadEndError(
        'You are no longer signed in, so nothing was connected; start again in the application.',
      );
    }
    const form = new URLSearchParams(await arrived(c.req.text()));
    const [handle, decision] = [form.get('handle') ?? '', form.get('decision') ?? ''];
    if (!DECISIONS.includes(decision))
      throw new DeadEndError('The answer was neither yes nor no, so nothing was connected; use the buttons.');
    const { location, cookies } = await answer(
      signedIn.ctx,
      forLibrary(c.req.raw),
      { handle, decision: decision as Decision },
      issuerOf(c.req.url),
    );
    return withCookies(c, cookies, redirectAway(location));
  }),
);

/** Whoever is refused has the registry write nothing. */
function purgeAfter(c: Call<AppEnv>, { ok }: Response): void {
  const { db, now } = c.var.deps;
  if (ok) surroundings(c).defer(purgeOAuth(db, now()));
}

/** Tokens and secrets travel here, so the way must be encrypted or within one machine. */
async function requireSecure(c: Call<AppEnv>, next: () => Promise<void>): Promise<void> {
  if (!issuerOf(c.req.url).startsWith('http://') || cookieName(c.req.raw, '') === '') return next();
  throw new RegistryError('access_denied', 'Applications connect over https only; use the https address.');
}

/** What a metadata address is about. @throws RegistryError `not_found` */
function resourceAt(c: Call<AppEnv>, prefix: string): string {
  const { origin, pathname } = new URL(c.req.url);
  const resource = resourceOf(origin + (pathname.slice(prefix.length) || '/mcp'));
  if (resource !== null) return resource;
  throw new RegistryError('not_found', 'There is no MCP server at this address; the registry is at /mcp.');
}

async function tokenRequest(c: Call<AppEnv>): Promise<TokenRequest> {
  return {
    issuer: issuerOf(c.req.url),
    form: new URLSearchParams(await arrived(c.req.text())),
    contentType: c.req.header('content-type') ?? '',
    authorization: c.req.header('authorization') ?? null,
  };
}

/** Runs work for a person: what cannot go on ends on our own page, save where the client can be told. */
async function onPage(c: Call<AppEnv>, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuthorizationError && error.redirectTo !== undefined)
      return redirectAway(error.redirectTo);
    const title = 'The application was not connected';
    const message = sentenceOf(error);
    if (message === null) return showError(c, error, title);
    return c.html(errorPage({ title, message }), 400, pageHeaders());
  }
}

function sentenceOf(error: unknown): string | null {
  if (error instanceof DeadEndError || error instanceof ClientDocumentError) return error.message;
  if (error instanceof RegistryError && error.code === 'access_denied') return error.message;
  if (error instanceof StaleRecordError)
    return 'This question was answered already; start again in the application.';
  if (error instanceof AuthorizationError)
    return `The application's request cannot be answered, so nothing was connected: ${error.description}.`;
  return null;
}

/** The consent form is a plain one: see {@link requireSameOrigin}. */
function formHeaders(formTarget: string): Record<string, string> {
  return { ...pageHeaders({ formTarget }), 'referrer-policy': 'same-origin' };
}

function redirectAway(location: string): Response {
  return new Response(null, {
    status: 302,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  });
}

const PREFIX = '__Host-';

/** The library names its cookies for https; on a person's own machine they are named as ours are there. */
function withCookies(c: Call<AppEnv>, cookies: readonly string[], response: Response): Response {
  const plain = cookieName(c.req.raw, '') === '';
  for (const cookie of cookies) {
    const own = plain ? cookie.replace(PREFIX, '').replace('; Secure', '') : cookie;
    response.headers.append('set-cookie', own);
  }
  return response;
}

function forLibrary(request: Request): Request {
  const plain = cookieName(request, '') === '';
  const cookies = (request.headers.get('cookie') ?? '')
    .split(/; */)
    .map((cookie) => (plain ? PREFIX + cookie : cookie));
  return new Request(request.url, { method: 'POST', headers: { cookie: cookies.join('; ') } });
}
