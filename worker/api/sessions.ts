import { Hono } from 'hono';
import type { SessionList } from '../../schema/account.ts';
import { RegistryError } from '../../schema/errors.ts';
import { closeCookie } from '../auth/browser.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listSessions, revokeSession } from '../registry/sessions.ts';

/** Where the caller's account is signed in, under `/sessions`. They need `devices:write`. */
export const sessions = new Hono<AppEnv>();

/** → `SessionList`, last used first. */
sessions.get('/', async (c) => {
  const answer: SessionList = await listSessions(await callerOf(c));
  return c.json(answer);
});

/** → 204: the session ends at once. Repeating it is no error. `current` is the calling one. Errors: `not_found`. */
sessions.delete('/:id', async (c) => {
  const ctx = await callerOf(c);
  const { type, id: own } = await ctx.enter();
  const named = c.req.param('id');
  if (named === 'current' && type !== 'session')
    throw new RegistryError('not_found', 'This call comes with no session; name one by its id.');
  const id = named === 'current' ? own : named;
  await revokeSession(ctx, id);
  if (type === 'session' && id === own) closeCookie(c);
  return c.body(null, 204);
});
