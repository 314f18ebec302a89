import { expect, test } from 'vitest';
import { openTestOAuth, RESOURCE, type TestOAuth, tokensOf } from './oauth-harness.ts';

const CREATE = { action: 'create', name: 'a-skill', description: 'Does it.', instructions: 'Do it.' };

async function toolNames(oauth: TestOAuth, token: string): Promise<string[]> {
  const { json } = await oauth.mcp(token, 'tools/list');
  return json.result.tools.map(({ name }: { name: string }) => name);
}

test('check 12: a client that asked for less is told what to ask for, and gets it by asking', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const asked = async (scope: string) =>
    tokensOf(await oauth.redeem(client, await oauth.approve(client, { scope }))).access;
  const reading = await asked('skills:read');
  expect(await toolNames(oauth, reading)).toEqual(['skills', 'skill_edit']);
  expect((await oauth.tool(reading)).status).toBe(200);

  const refused = await oauth.tool(reading, 'skill_edit', CREATE);
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer error="insufficient_scope", resource_metadata="http://localhost:8787/.well-known/oauth-protected-resource/mcp", scope="skills:read skills:write"`,
  );
  expect((await oauth.tool(reading)).text).not.toContain('a-skill');

  const writing = await asked('skills:read skills:write');
  expect((await oauth.tool(writing, 'skill_edit', CREATE)).status).toBe(200);
  expect((await oauth.tool(writing)).text).toContain('a-skill');
});

test('check 12: an application that the person limited to reading does not see that it could write', async () => {
  const oauth = await openTestOAuth();
  for (const scope of ['skills:read skills:write', 'skills:read']) {
    const { tokens, client } = await oauth.connect({ scope }, 'allow-read');
    const { access, refresh } = tokensOf(await oauth.refresh(client, tokens.refresh, { scope }));
    for (const token of [tokens.access, access]) {
      expect(await toolNames(oauth, token)).toEqual(['skills']);
      expect((await oauth.tool(token, 'skill_edit', CREATE)).status).toBe(403);
    }
    expect(refresh).not.toBe(tokens.refresh);
  }
});

test('a refresh may ask for less, never for more', async () => {
  const oauth = await openTestOAuth();
  const { client, tokens } = await oauth.connect();
  const less = await oauth.refresh(client, tokens.refresh, { scope: 'skills:read' });
  expect(less.json.scope).toBe('skills:read');
  expect((await oauth.tool(tokensOf(less).access, 'skill_edit', CREATE)).status).toBe(403);

  const reader = await oauth.connect({ scope: 'skills:read' });
  const more = await oauth.refresh(reader.client, reader.tokens.refresh, {
    scope: 'skills:read skills:write',
  });
  expect(more.json.scope).toBe('skills:read');
});

test('what an application writes is written in its name, by its program', async () => {
  const oauth = await openTestOAuth();
  const { tokens } = await oauth.connect();
  await oauth.tool(tokens.access, 'skill_edit', CREATE);
  const { json } = await oauth.call('/api/v1/items/skill/a-skill/history', { token: await oauth.token() });
  expect(json.revisions[0].author).toMatchObject({ type: 'oauth', name: 'Claude', client: 'someone' });
});

test('the client id of a verified token says which client it is, before any name', async () => {
  const id = 'https://chatgpt.com/oauth/abc123/client.json';
  const redirect = 'https://chatgpt.com/connector/oauth/abc123';
  const oauth = await openTestOAuth({
    outbound: async () => Response.json({ client_id: id, client_name: 'ChatGPT', redirect_uris: [redirect] }),
  });
  const api = await oauth.token();
  for (let i = 0; i < 10; i++) {
    const body = { kind: 'skill', name: `skill-${i}`, description: 'x'.repeat(200), instructions: 'x' };
    await oauth.call('/api/v1/items', { method: 'POST', token: api, body });
  }
  const told = async (token: string): Promise<string> =>
    (await oauth.mcp(token, 'server/discover', {}, { name: 'opencode' })).json.result.instructions;

  const client = { id, redirect };
  const { access } = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
  const { tokens } = await oauth.connect();
  // 512 characters reach ChatGPT's model, all of them opencode's, and whoever registered itself is believed its name.
  expect((await told(access)).length).toBeLessThanOrEqual(512);
  expect((await told(tokens.access)).length).toBeGreaterThan(2000);
});

test('every MCP address challenges for a resource of its own', async () => {
  const oauth = await openTestOAuth();
  for (const [path, metadata] of [
    ['/mcp', `/mcp`],
    ['/mcp/notes', `/mcp/notes`],
    ['/api/v1/items', '/mcp'],
  ]) {
    const { status, headers } = await oauth.call(path as string);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain(
      `resource_metadata="${RESOURCE.replace('/mcp', `/.well-known/oauth-protected-resource${metadata}`)}"`,
    );
  }
});

test('an access token costs one look-up beyond the round trip of every call', async () => {
  const oauth = await openTestOAuth();
  const { access } = (await oauth.connect()).tokens;
  await oauth.tool(access);
  await oauth.settle();
  const before = oauth.seen.trips;
  expect((await oauth.tool(access)).status).toBe(200);
  expect(oauth.seen.trips - before).toBe(2);
});
