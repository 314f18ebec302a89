import { Hono } from 'hono';
import type { Whoami } from '../../schema/api.ts';
import { type AppEnv, callerOf } from '../deps.ts';

/** Who the credentials belong to, under `/whoami` → `Whoami`. */
export const whoami = new Hono<AppEnv>();

whoami.get('/', async (c) => {
  const { type, id, name, accountId, scopes } = await (await callerOf(c)).enter();
  const answer: Whoami = { type, id, name, account_id: accountId, scopes: [...scopes] };
  return c.json(answer);
});
