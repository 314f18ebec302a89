import { type Context as Call, Hono } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { PasskeyAnswerBody, RecoveryBody, SetupBody, SetupOptionsBody } from '../../schema/sign-in.ts';
import { bodyOf } from '../api/input.ts';
import { type AppEnv, callerOf, surroundings } from '../deps.ts';
import { takeAttempt } from '../registry/attempts.ts';
import { keepChallenge, takeChallenge } from '../registry/challenges.ts';
import type { Context } from '../registry/context.ts';
import { openLink, redeemLink } from '../registry/links.ts';
import { findPasskey, knownPasskeys } from '../registry/passkeys.ts';
import { endSession } from '../registry/sessions.ts';
import { confirmByPasskey, signInByCode, signInByPasskey } from '../registry/sign-in.ts';
import { sizeLimit } from '../size-limit.ts';
import { closeCookie, openCookie, sameBrowser, visitorOf } from './browser.ts';
import { askToRegister, askToSign, partyOf, proveRegistration, proveSignature } from './passkey.ts';
import { cookieHash, LOGIN_COOKIE, requireSameOrigin, SESSION_COOKIE } from './session.ts';

/** Questions that one place may have put to it, so that a stranger cannot fill the database with them. */
const QUESTIONS = { max: 100, windowMs: 10 * 60_000 };

/**
 * How a person signs in, under `/auth`: JSON for the pages of this very origin. WebAuthn options go to the browser and its
 * answer comes back; a cookie ties the two together.
 */
export const auth = new Hono<AppEnv>();

auth.use(sizeLimit('The body has more than 3 MiB; no answer of a passkey is that large.'));
auth.use(async (c, next) => {
  if (c.req.method === 'POST') requireSameOrigin(c.req.raw);
  await next();
  c.header('cache-control', 'no-store');
});

/**
 * `{ token }` of a one-time link → `{ options, type, account: { name } | null, name }`: what to make the passkey with, and
 * whom for. `account` is null for an invitation, which makes one; `name` is then what the inviter calls the guest.
 * Errors: `expired_token` for a link that is dead, `invalid_input` where passkeys cannot be made.
 */
auth.post('/setup/options', async (c) => {
  const party = partyOf(c.req.raw);
  const { token } = await bodyOf(c, SetupOptionsBody);
  await countQuestion(c);
  const { hash, type, account, known } = await openLink(surroundings(c), token);
  const options = await askToRegister(party, account, known);
  await ask(c, { browser: await sameBrowser(c), purpose: 'setup' }, options.challenge, {
    link: hash,
    account: account.id,
  });
  const { name } = account;
  return c.json({ options, type, account: type === 'invitation' ? null : { name }, name });
});

/**
 * `{ token, account_name?, passkey_name?, response }` → `{ recovery_codes }`, eight, shown this once, and the session's
 * cookie. Errors: `expired_token`, `access_denied` for an answer that does not hold, `conflict` for a known passkey.
 */
auth.post('/setup/finish', async (c) => {
  const party = partyOf(c.req.raw);
  const body = await bodyOf(c, SetupBody);
  const browser = await cookieHash(c.req.raw, LOGIN_COOKIE);
  const { challenge, data } = await answered(c, { browser, purpose: 'setup' });
  const passkey = await proveRegistration(party, body.response, challenge);
  const visitor = await visitorOf(c);
  const { secret, codes } = await redeemLink(surroundings(c), {
    token: body.token,
    asked: { link: data.link ?? '', accountId: data.account ?? '' },
    accountName: body.account_name ?? null,
    passkey,
    passkeyName: body.passkey_name ?? visitor.browser,
    visitor,
  });
  openCookie(c, secret);
  return c.json({ recovery_codes: codes });
});

/** → `{ options }` for any passkey that the browser finds. */
auth.post('/login/options', async (c) => {
  const party = partyOf(c.req.raw);
  await countQuestion(c);
  const options = await askToSign(party);
  await ask(c, { browser: await sameBrowser(c), purpose: 'login' }, options.challenge);
  return c.json({ options });
});

/** `{ response }` → 204 and the session's cookie. Errors: `expired_token`, `access_denied`. */
auth.post('/login/finish', async (c) => {
  const party = partyOf(c.req.raw);
  const { response } = await bodyOf(c, PasskeyAnswerBody);
  const browser = await cookieHash(c.req.raw, LOGIN_COOKIE);
  const { challenge } = await answered(c, { browser, purpose: 'login' });
  const passkey = await findPasskey(c.var.deps.db, response.id);
  const use = await proveSignature(party, response, challenge, { passkey, found: true });
  openCookie(c, await signInByPasskey(surroundings(c), use, await visitorOf(c)));
  return c.body(null, 204);
});

/** `{ code }`, a recovery code → 204 and the session's cookie. Errors: `access_denied`, `rate_limited`. */
auth.post('/login/recovery', async (c) => {
  const { code } = await bodyOf(c, RecoveryBody);
  openCookie(c, await signInByCode(surroundings(c), code, await visitorOf(c)));
  return c.body(null, 204);
});

/** → `{ options }` for the passkeys of the account that is signed in. Errors: `unauthorized`. */
auth.post('/check/options', async (c) => {
  const party = partyOf(c.req.raw);
  const { ctx, browser } = await personOf(c);
  const known = await knownPasskeys(ctx.db, ctx.actor.accountId);
  if (known.length === 0)
    throw new RegistryError('conflict', 'Your account has no passkey yet; add one on the account page.');
  const options = await askToSign(party, known);
  await ask(c, { browser, purpose: 'check' }, options.challenge);
  return c.json({ options });
});

/** `{ response }` → 204: sensitive acts are open for five minutes. Errors: `expired_token`, `access_denied`, `unauthorized`. */
auth.post('/check/finish', async (c) => {
  const party = partyOf(c.req.raw);
  const { response } = await bodyOf(c, PasskeyAnswerBody);
  const { ctx, browser } = await personOf(c);
  const { challenge } = await answered(c, { browser, purpose: 'check' });
  const passkey = await findPasskey(ctx.db, response.id);
  await confirmByPasskey(ctx, await proveSignature(party, response, challenge, { passkey, found: false }));
  return c.body(null, 204);
});

/** → 204: the session has ended, whatever it was. */
auth.post('/logout', async (c) => {
  const { db, now } = c.var.deps;
  const hash = await cookieHash(c.req.raw, SESSION_COOKIE);
  if (hash !== null) await endSession(db, hash, now());
  closeCookie(c);
  return c.body(null, 204);
});

/** The session of the browser that calls, and what its challenges are kept under. */
async function personOf(c: Call<AppEnv>): Promise<{ ctx: Context; browser: string }> {
  const ctx = await callerOf(c);
  const { type } = await ctx.enter();
  const browser = await cookieHash(c.req.raw, SESSION_COOKIE);
  if (type === 'session' && browser !== null) return { ctx, browser };
  throw new RegistryError('access_denied', 'A passkey is checked in a browser: sign in there.');
}

type Asked = Omit<Parameters<typeof takeChallenge>[1], 'now'>;

function ask(
  c: Call<AppEnv>,
  asked: Asked & { browser: string },
  challenge: string,
  data: Record<string, string> = {},
): Promise<void> {
  const { db, now } = c.var.deps;
  return keepChallenge(db, { ...asked, challenge, data, now: now() });
}

function answered(c: Call<AppEnv>, asked: Asked): ReturnType<typeof takeChallenge> {
  const { db, now } = c.var.deps;
  return takeChallenge(db, { ...asked, now: now() });
}

function countQuestion(c: Call<AppEnv>): Promise<void> {
  const { db, now, place } = c.var.deps;
  return takeAttempt(db, { bucket: `question:${place(c.req.raw)}`, ...QUESTIONS, now: now() });
}
