import { Hono } from 'hono';
import type { AccountEventList } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listEvents } from '../registry/account-events.ts';

/** What happened to the access to the account, under `/events` → `AccountEventList`, newest first. Needs `devices:write`. */
export const events = new Hono<AppEnv>();

events.get('/', async (c) => {
  const answer: AccountEventList = await listEvents(await callerOf(c));
  return c.json(answer);
});
