import { Hono } from 'hono';
import type { ApplicationList } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listApplications, revokeApplication } from '../registry/applications.ts';

/** MCP clients that were let in over OAuth, under `/applications`. Both need `devices:write`: they say who gets in. */
export const applications = new Hono<AppEnv>();

/** → `ApplicationList`, newest first. */
applications.get('/', async (c) => {
  const answer: ApplicationList = await listApplications(await callerOf(c));
  return c.json(answer);
});

/** → 204: its next request is refused. Repeating it is no error. Errors: `not_found`. */
applications.delete('/:id', async (c) => {
  await revokeApplication(await callerOf(c), c.req.param('id'));
  return c.body(null, 204);
});
