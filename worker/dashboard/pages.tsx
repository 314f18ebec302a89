import { type Context as Call, Hono, type MiddlewareHandler } from 'hono';
import { type ErrorCode, RegistryError } from '../../schema/errors.ts';
import { refusal } from '../api/problem.ts';
import { returnTo } from '../auth/return-to.ts';
import { comesFromElsewhere } from '../auth/session.ts';
import type { AppEnv } from '../deps.ts';
import { refusalOf } from '../log.ts';
import { showPairing } from '../registry/approval.ts';
import { accountPage, readAccess } from './account.tsx';
import { errorPage } from './error.tsx';
import { introPage, introText } from './intro.tsx';
import type { Page } from './layout.tsx';
import { loginPage } from './login.tsx';
import { codePage, pairPage, pairText } from './pair.tsx';
import { pageHeaders } from './security-headers.ts';
import { setupPage } from './setup.tsx';
import { visitor } from './visitor.ts';

/** The pages for people, at the root. They read by the verbs and never write: acts go through `/auth` and `/api/v1`. */
export const pages = new Hono<AppEnv>();

pages.onError((error, c) => showError(c, error));

for (const path of ['/', '/setup', '/login', '/pair', '/account']) pages.use(path, toLocalhost);

pages.get('/', async (c) => {
  const { origin } = new URL(c.req.url);
  if (!asksForPage(c)) return c.text(introText(origin));
  return (await visitor(c)) ? c.redirect('/account') : show(c, introPage(origin));
});

pages.get('/setup', (c) => show(c, setupPage()));

pages.get('/login', async (c) => {
  const { origin } = new URL(c.req.url);
  const next = returnTo(c.req.query('next'), origin) ?? `${origin}/account`;
  if (await visitor(c)) return c.redirect(next);
  const { oidc, access } = c.var.deps.signIn;
  return show(c, loginPage({ next, issuer: oidc?.name ?? null, behindAccess: access !== null }));
});

pages.get('/pair', async (c) => {
  const typed = c.req.query('code');
  if (!asksForPage(c)) return c.text(pairText(typed));
  const signedIn = await visitor(c);
  if (!signedIn) return signInFirst(c);
  const { ctx, account } = signedIn;
  const { origin } = new URL(c.req.url);
  // To open a code claims it, and wrong ones lock: a link on a page elsewhere only fills in the form.
  if (!typed || comesFromElsewhere(c.req.raw)) return show(c, codePage({ account, origin, code: typed }));
  try {
    const pairing = await showPairing(ctx, typed);
    return show(c, pairPage({ account, pairing, now: c.var.deps.now() }));
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return showRefusal(c, error, codePage({ account, origin, code: typed, error }));
  }
});

pages.get('/account', async (c) => {
  const signedIn = await visitor(c);
  if (!signedIn) return signInFirst(c);
  const { ctx, account } = signedIn;
  const { push, signIn, now } = c.var.deps;
  const [access, online] = await Promise.all([readAccess(ctx), push.online(ctx.actor.accountId)]);
  return show(
    c,
    accountPage({
      account,
      access,
      online: new Set(online),
      issuer: signIn.oidc?.name ?? null,
      behindAccess: signIn.access !== null,
      origin: new URL(c.req.url).origin,
      now: now(),
    }),
  );
});

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'Nothing is here',
  rate_limited: 'Too much at once',
  unavailable: 'Not just now',
};

/** Any failure as a page, for whoever asked for one. */
export function showError(c: Call<AppEnv>, error: unknown, title?: string): Response | Promise<Response> {
  const refused = refusalOf(error);
  const { code, message } = refused;
  return showRefusal(c, refused, errorPage({ title: title ?? TITLES[code] ?? 'This did not work', message }));
}

/** Whether a browser asks for something to look at, not a program or a terminal. */
export function asksForPage(c: Call<AppEnv>): boolean {
  return c.req.method === 'GET' && (c.req.header('accept')?.includes('text/html') ?? false);
}

function show(c: Call<AppEnv>, content: Page) {
  return c.html(content, 200, pageHeaders());
}

function showRefusal(c: Call<AppEnv>, error: RegistryError, content: Page) {
  const { status, headers } = refusal(error, c.req.raw);
  return c.html(content, status, { ...Object.fromEntries(headers), ...pageHeaders() });
}

function signInFirst(c: Call<AppEnv>): Response {
  const { pathname, search } = new URL(c.req.url);
  return c.redirect(`/login?next=${encodeURIComponent(pathname + search)}`);
}

/** A passkey belongs to a name; 127.0.0.1 is none, and localhost is the same machine (WebAuthn Level 3 section 5.1.2). */
async function toLocalhost(...[c, next]: Parameters<MiddlewareHandler<AppEnv>>) {
  const url = new URL(c.req.url);
  if (!c.var.deps.loopbackOnly || url.hostname === 'localhost' || !asksForPage(c)) return next();
  url.hostname = 'localhost';
  return c.redirect(url.href);
}
