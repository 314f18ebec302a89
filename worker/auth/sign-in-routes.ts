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
import { cookieHash, LOGIN_COOKIE, sessionClaim } from './session.ts';
import type { AccessSettings, OidcSettings } from './sign-in.ts';

const AFTERWARDS = '/account';
const TRIES = { max: 60, windowMs: 10 * 60_000 };
const CALLBACK = '/auth/oidc/callback';

/** Sign-in by others than a passkey, under `/auth` and by its rules (`routes.ts`): a POST comes from a page of our own. */
export const signIn = new Hono<AppEnv>();

/** Where people are sent to and fro, so that what goes wrong is told on a page. */
const oidc = new Hono<AppEnv>().onError((error, c) => showError(c, error));

/**
 * `return_to`: path of this origin to go on to. `link=1`: adds the login to the account that is signed in, by a passkey
 * checked just now. → 302 to the issuer. Errors: `not_found` where no issuer is configured, `passkey_required`.
 */
oidc.get('/start', async (c) => {
  const { deps } = c.var;
  const settings = oidcOf(c);
  const { origin } = new URL(c.req.url);
  await countTry(c);
  const link = c.req.query('link') === '1' ? await accountToLink(c) : null;
  const { url, state, nonce, verifier } = await requestOidc(settings, deps, origin + CALLBACK);
  await keepChallenge(deps.db, {
    browser: await sameBrowser(c),
    purpose: 'oidc',
    challenge: state,
    data: {
      nonce,
      verifier,
      return_to: returnTo(c.req.query('return_to'), origin) ?? origin + AFTERWARDS,
      ...(link === null ? {} : { link }),
    },
    now: deps.now(),
  });
  return c.redirect(url.href);
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

/** Each try makes this registry ask others over the network. */
function countTry(c: Call<AppEnv>): Promise<void> {
  const { db, now, place } = c.var.deps;
  return takeAttempt(db, { bucket: `sign-in:${place(c.req.raw)}`, ...TRIES, now: now() });
}

/**
 * Whose account a login is to be linked to. A link on another site must not begin it: whoever had signed the person in at
 * the issuer before, as somebody else, would get into the account. A navigation has no `Origin`, but it has this header.
 */
async function accountToLink(c: Call<AppEnv>): Promise<string> {
  if (c.req.header('sec-fetch-site') !== 'same-origin') {
    throw new RegistryError(
      'access_denied',
      'A login is linked from the account page only, so this was refused; open that page and start there.',
    );
  }
  const ctx = await personOf(c);
  ctx.requireFreshPasskey();
  return ctx.actor.accountId;
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
