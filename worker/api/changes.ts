import { Hono } from 'hono';
import { z } from 'zod';
import { type ChangesPage, Cursor } from '../../schema/api.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { changesSince } from '../registry/changes.ts';
import { queryOf } from './input.ts';

const Since = z.object({ since: Cursor.optional() });

/**
 * The change feed, under `/changes`: `?since=` cursor → `ChangesPage` of at most 2 MiB; without a cursor from the start.
 * Errors: `registry_rewound` (409: `cursor`). Needs `skills:read`.
 */
export const changes = new Hono<AppEnv>();

changes.get('/', async (c) => {
  const { since = null } = queryOf(c, Since);
  const answer: ChangesPage = await changesSince(await callerOf(c), since);
  return c.json(answer);
});
