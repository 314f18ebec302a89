import { Hono } from 'hono';
import { type Guidelines, GuidelinesBody } from '../../schema/api.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { getGuidelines, setGuidelines } from '../registry/guidelines.ts';
import { bodyOf } from './input.ts';

/** The user's guidelines, under `/guidelines`. */
export const guidelines = new Hono<AppEnv>();

/** → `Guidelines`. Needs `skills:read`. */
guidelines.get('/', async (c) => {
  const answer: Guidelines = await getGuidelines(await callerOf(c));
  return c.json(answer);
});

/** `GuidelinesBody` → `Guidelines`. Errors: `too_large`, `credential`, `confirmation_required`. Needs `skills:write`. */
guidelines.put('/', async (c) => {
  const ctx = await callerOf(c);
  const answer: Guidelines = await setGuidelines(ctx, await bodyOf(c, GuidelinesBody));
  return c.json(answer);
});
