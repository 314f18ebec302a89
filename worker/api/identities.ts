import { Hono } from 'hono';
import type { IdentityList } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listIdentities, unlinkIdentity } from '../registry/identities.ts';

/** Logins elsewhere that open the account, under `/identities`. They are linked at `/auth`, where they prove themselves. */
export const identities = new Hono<AppEnv>();

/** → `IdentityList`. Needs `devices:write`. */
identities.get('/', async (c) => {
  const answer: IdentityList = await listIdentities(await callerOf(c));
  return c.json(answer);
});

/**
 * → 204: it opens the account no more, and other sessions that such a login has opened end. Errors: `not_found`;
 * `passkey_required`; `conflict` for the last way in. Needs `devices:write`.
 */
identities.delete('/:id', async (c) => {
  await unlinkIdentity(await callerOf(c), c.req.param('id'));
  return c.body(null, 204);
});
