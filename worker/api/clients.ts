import { Hono } from 'hono';
import type { ClientsSeen } from '../../schema/api.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listClientsSeen } from '../registry/clients-seen.ts';

/** MCP clients that opened a session, under `/clients` → `ClientsSeen`, last seen first. Needs `skills:read`. */
export const clients = new Hono<AppEnv>();

clients.get('/', async (c) => {
  const answer: ClientsSeen = { clients: await listClientsSeen(await callerOf(c)) };
  return c.json(answer);
});
