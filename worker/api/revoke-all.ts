import { Hono } from 'hono';
import type { RevokedAll } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { revokeAll } from '../registry/revoke-all.ts';

/**
 * After the loss of a passkey, under `/revoke-all` → `RevokedAll`: every session, API token, application, device and linked
 * login of the account has lost its access, open sockets included, but the session or token that calls. No body. Needs
 * `devices:write`. Errors: `passkey_required` for a session without a fresh one.
 */
export const everything = new Hono<AppEnv>();

everything.post('/', async (c) => {
  const answer: RevokedAll = await revokeAll(await callerOf(c));
  return c.json(answer);
});
