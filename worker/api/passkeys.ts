import { type Context as Call, Hono } from 'hono';
import { type Passkey, PasskeyBody, type PasskeyList } from '../../schema/account.ts';
import { NewPasskeyBody } from '../../schema/sign-in.ts';
import { visitorOf } from '../auth/browser.ts';
import { askToRegister, partyOf, proveRegistration } from '../auth/passkey.ts';
import { cookieHash, SESSION_COOKIE } from '../auth/session.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { keepChallenge, takeChallenge } from '../registry/challenges.ts';
import {
  addPasskey,
  listPasskeys,
  mayAddPasskey,
  removePasskey,
  renamePasskey,
} from '../registry/passkeys.ts';
import { bodyOf } from './input.ts';

/** Passkeys of the caller's account, under `/passkeys`. They need `devices:write`. */
export const passkeys = new Hono<AppEnv>();

/** → `PasskeyList`, oldest first. */
passkeys.get('/', async (c) => {
  const answer: PasskeyList = await listPasskeys(await callerOf(c));
  return c.json(answer);
});

/** → `{ options }` to make a passkey with. Errors: `passkey_required`, `access_denied` for a caller that is no browser. */
passkeys.post('/options', async (c) => {
  const party = partyOf(c.req.raw);
  const { account, known } = await mayAddPasskey(await callerOf(c));
  const options = await askToRegister(party, account, known);
  const { db, now } = c.var.deps;
  const browser = (await sessionHash(c)) ?? '';
  await keepChallenge(db, { browser, purpose: 'passkey', challenge: options.challenge, now: now() });
  return c.json({ options });
});

/** `{ name?, response }` → 201 `Passkey`. Errors: as above, `expired_token`, `access_denied`, `conflict`. */
passkeys.post('/', async (c) => {
  const party = partyOf(c.req.raw);
  const ctx = await callerOf(c);
  const { name, response } = await bodyOf(c, NewPasskeyBody);
  await mayAddPasskey(ctx);
  const { db, now } = c.var.deps;
  const browser = await sessionHash(c);
  const { challenge } = await takeChallenge(db, { browser, purpose: 'passkey', now: now() });
  const passkey = await proveRegistration(party, response, challenge);
  const answer: Passkey = await addPasskey(ctx, passkey, name ?? (await visitorOf(c)).browser);
  return c.json(answer, 201);
});

/** `PasskeyBody` → `Passkey`. Errors: `not_found`, `passkey_required`. */
passkeys.patch('/:id', async (c) => {
  const ctx = await callerOf(c);
  const { name } = await bodyOf(c, PasskeyBody);
  const answer: Passkey = await renamePasskey(ctx, c.req.param('id'), name);
  return c.json(answer);
});

/** → 204. Errors: `not_found`, `passkey_required`, `conflict` for the last one. */
passkeys.delete('/:id', async (c) => {
  await removePasskey(await callerOf(c), c.req.param('id'));
  return c.body(null, 204);
});

function sessionHash(c: Call<AppEnv>): Promise<string | null> {
  return cookieHash(c.req.raw, SESSION_COOKIE);
}
