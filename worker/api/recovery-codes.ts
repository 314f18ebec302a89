import { Hono } from 'hono';
import type { RecoveryCodes } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { makeRecoveryCodes } from '../registry/recovery-codes.ts';

/** Recovery codes of the caller's account, under `/recovery-codes`. */
export const recoveryCodes = new Hono<AppEnv>();

/** → 201 `RecoveryCodes`, shown this once; the old ones are dead. Needs `devices:write`. Errors: `passkey_required`, `access_denied` for no browser. */
recoveryCodes.post('/', async (c) => {
  const answer: RecoveryCodes = { recovery_codes: await makeRecoveryCodes(await callerOf(c)) };
  return c.json(answer, 201);
});
