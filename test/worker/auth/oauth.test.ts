import { expect, test } from 'vitest';
import { BOTH, openTestOAuth, RESOURCE, tokensOf } from './oauth-harness.ts';

test('an application is connected, calls, refreshes, and calls again', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const approved = await oauth.approve(client);
  expect(Object.fromEntries(approved.back.searchParams)).toEqual({
    code: approved.code,
    state: 'a state',
    iss: 'http://localhost:8787',
  });
  const answer = await oauth.redeem(client, approved);
  expect(answer.json).toMatchObject({
    token_type: 'bearer',
    expires_in: 86_400,
    scope: BOTH,
    resource: RESOURCE,
  });
  const first = tokensOf(answer);
  expect((await oauth.tool(first.access)).status).toBe(200);
  const second = tokensOf(await oauth.refresh(client, first.refresh));
  expect((await oauth.tool(second.access)).status).toBe(200);
});
