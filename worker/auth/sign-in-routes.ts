import { type Context as Call, Hono } from 'hono';
import { z } from 'zod';
import { RegistryError } from '../../schema/errors.ts';
import { bodyOf } from '../api/input.ts';
import { showError } from '../dashboard/pages.tsx';
import { type AppEnv, surroundings } from '../deps.ts';
import { takeAttempt } from '../registry/attempts.ts';
import { keepChallenge, takeChallenge } from '../registry/challenges.ts';
import { Context } from '../registry/context.ts';
import { linkIdentity, type ProvenIdentity, signInByIdentity } from '../registry/identities.ts';
import { proveAccess } from './access-jwt.ts';
import { openCookie, sameBrowser, visitorOf } from './browser.ts';
import { proveOidc, requestOidc } from './oidc.ts';
import { returnTo } from './return-to.ts';
import { comesFromElsewhere, cookieHash, LOGIN_COOKIE, sessionClaim } from './session.ts';
import type { AccessSettings, OidcSettings } from './sign-in.ts';

const AFTERWARDS = '/account';
const AFTER_LINKING = '/account#identities';
const TRIES = { max: 60, windowMs: 10 * 60_000 };
const CALLBACK = '/auth/oidc/callback';

/** Sign-in by others than a passkey, under `/auth` and by its rules (`routes.ts`): a POST comes from a page of our own. */
export const signIn = new Hono<AppEnv>();

/** Where people are sent to and fro, so that what goes wrong is told on a page. */
const oidc = new Hono<AppEnv>().onError((error, c) => showError(c, error));

/**
 * `return_to`: path of this origin to go on to. → 302 to the issuer, or to the page where people sign in, for whoever
 * followed a link elsewhere: it could sign them in as somebody else. Errors: `not_found` where no issuer is configured.
 */
oidc.get('/start', async (c) => {
  const { origin } = new URL(c.req.url);
  const target = returnTo(c.req.query('return_to'), origin) ?? origin + AFTERWARDS;
  if (comesFromElsewhere(c.req.raw)) return c.redirect(`/login?next=${encodeURIComponent(target)}`);
  return c.redirect(await sendAway(c, { return_to: target }));
});

/** The issuer's answer → 302 to where the person wanted to go, with a session or a further login of the account. */
oidc.get('/callback', async (c) => {
  const { deps } = c.var;
  const settings = oidcOf(c);
  const browser = await cookieHash(c.req.raw, LOGIN_COOKIE);
  const asked = await takeChallenge(deps.db, { browser, purpose: 'oidc', now: deps.now() });
  const { nonce = '', verifier = '', return_to: target = AFTERWARDS, link } = asked.data;
  const sent = { state: asked.challenge, nonce, verifier };
  const identity = await proveOidc(settings, deps, new URL(c.req.url), sent);
  if (link === undefined) await open(c, identity, 'oidc');
  else await linkIdentity(await personOf(c, link), identity);
  return c.redirect(target);
});

signIn.route('/oidc', oidc);

/**
 * → `{ url }` at the issuer, who adds the login to the account that is signed in. A POST, since only a page of our own may
 * begin it: by a link on another site, whoever had signed the person in at the issuer before, as somebody else, would get
 * into the account. Errors: `not_found` where no issuer is configured, `access_denied`, `passkey_required`.
 */
signIn.post('/oidc/link', async (c) => {
  oidcOf(c);
  const ctx = await personOf(c);
  ctx.requireFreshPasskey();
  const { origin } = new URL(c.req.url);
  const url = await sendAway(c, { return_to: origin + AFTER_LINKING, link: ctx.actor.accountId });
  return c.json({ url });
});

const AccessBody = z.strictObject({ link: z.boolean().optional() });

/**
 * `{ link? }` and the header that Cloudflare Access adds → 204 with a session, or with a further login of the account. A
 * POST, since it makes a session: only a page of our own may ask for it, and not a link elsewhere. Errors: `not_found`
 * where no team is configured, `access_denied`, `passkey_required`.
 */
signIn.post('/access', async (c) => {
  const settings = accessOf(c);
  const { link = false } = await bodyOf(c, AccessBody);
  await countTry(c);
  const identity = await proveAccess(settings, c.var.deps, c.req.raw);
  if (link) await linkIdentity(await personOf(c), identity);
  else await open(c, identity, 'access');
  return c.body(null, 204);
});

function oidcOf(c: Call<AppEnv>): OidcSettings {
  const { oidc } = c.var.deps.signIn;
  if (oidc) return oidc;
  throw new RegistryError(
    'not_found',
    'No identity provider is set up for this registry; sign in with your passkey.',
  );
}

function accessOf(c: Call<AppEnv>): AccessSettings {
  const { access } = c.var.deps.signIn;
  if (access) return access;
  throw new RegistryError(
    'not_found',
    'Cloudflare Access is not set up for this registry; sign in with your passkey.',
  );
}

/** Where the issuer asks the person; `data` is what is to be done with the answer. */
async function sendAway(c: Call<AppEnv>, data: Readonly<Record<string, string>>): Promise<string> {
  const { deps } = c.var;
  const settings = oidcOf(c);
  await countTry(c);
  const { origin } = new URL(c.req.url);
  const { url, state, nonce, verifier } = await requestOidc(settings, deps, origin + CALLBACK);
  const browser = await sameBrowser(c);
  await keepChallenge(deps.db, {
    browser,
    purpose: 'oidc',
    challenge: state,
    data: { ...data, nonce, verifier },
    now: deps.now(),
  });
  return url.href;
}

/** Each try makes this registry ask others over the network. */
function countTry(c: Call<AppEnv>): Promise<void> {
  const { db, now, place } = c.var.deps;
  return takeAttempt(db, { bucket: `sign-in:${place(c.req.raw)}`, ...TRIES, now: now() });
}

/** Who is signed in, to `account` where one is named. */
async function personOf(c: Call<AppEnv>, account?: string): Promise<Context> {
  const session = await sessionClaim(c.req.raw);
  const ctx = session && new Context(surroundings(c), session);
  const accountId = (await ctx?.enter())?.accountId;
  if (ctx && (account === undefined || account === accountId)) return ctx;
  throw new RegistryError(
    'access_denied',
    'You are not signed in to the account that the login was to be linked to; sign in to it with your passkey and start again.',
  );
}

async function open(c: Call<AppEnv>, identity: ProvenIdentity, method: 'oidc' | 'access'): Promise<void> {
  openCookie(c, await signInByIdentity(c.var.deps, identity, { method, visitor: await visitorOf(c) }));
}
