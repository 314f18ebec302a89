import { Hono } from 'hono';
import { ApiTokenBody, type ApiTokenList, type MadeApiToken } from '../../schema/account.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { listTokens, makeToken, revokeToken } from '../registry/tokens.ts';
import { bodyOf } from './input.ts';

/** API tokens, under `/tokens`. All need `devices:write`: they say who gets in. */
export const tokens = new Hono<AppEnv>();

/** → `ApiTokenList`, newest first. */
tokens.get('/', async (c) => {
  const answer: ApiTokenList = await listTokens(await callerOf(c));
  return c.json(answer);
});

/**
 * `ApiTokenBody` → 201 `MadeApiToken`, the one answer that holds the token. Errors: `insufficient_scope` for a scope that
 * the caller lacks, `passkey_required` for a session without a fresh one.
 */
tokens.post('/', async (c) => {
  const ctx = await callerOf(c);
  const answer: MadeApiToken = await makeToken(ctx, await bodyOf(c, ApiTokenBody));
  return c.json(answer, 201);
});

/** → 204: its next request is refused. Repeating it is no error. Errors: `not_found`. */
tokens.delete('/:id', async (c) => {
  await revokeToken(await callerOf(c), c.req.param('id'));
  return c.body(null, 204);
});
