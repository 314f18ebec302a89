import { sql } from 'drizzle-orm';
import { expect, test, vi } from 'vitest';
import { openTestOAuth, tokensOf } from './oauth-harness.ts';

test('check 15: a token in the query is none', async () => {
  const oauth = await openTestOAuth();
  const { access } = (await oauth.connect()).tokens;
  for (const query of [`access_token=${access}`, `token=${access}`, `authorization=Bearer+${access}`]) {
    const { status } = await oauth.call(`/mcp?${query}`, { method: 'POST', body: {} });
    expect(status).toBe(401);
  }
});

test('check 15: no token, code, secret or handle is in a log, an error, a redirect but its own, or the database', async () => {
  const logged: unknown[][] = [];
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...line) => void logged.push(line));
  const oauth = await openTestOAuth();
  const client = await oauth.register({ token_endpoint_auth_method: 'client_secret_post' });
  const question = await oauth.ask(client);
  const allowed = await oauth.decide(question);
  const back = new URL(allowed.headers.get('location') ?? '');
  const code = back.searchParams.get('code') ?? '';
  const { verifier } = question;
  const first = tokensOf(await oauth.redeem(client, { code, verifier }));
  const second = tokensOf(await oauth.refresh(client, first.refresh));

  // Whatever can go wrong with them.
  const failing = [
    await oauth.decide(question),
    await oauth.refresh(client, second.refresh, { client_secret: 'wrong' }),
    await oauth.refresh(client, second.refresh, { resource: 'https://other.example/mcp' }),
    await oauth.refresh(client, `${second.refresh}x`),
    await oauth.tool(`${second.access}x`),
    await oauth.tool(second.access, undefined, undefined, '/mcp/other'),
    await oauth.call('/api/v1/items', { token: second.access }),
    await oauth.call(`/authorize?${back.searchParams}`, { headers: { cookie: question.cookie } }),
  ];
  oauth.database.send = () => Promise.reject(new Error('The database is out of reach.'));
  failing.push(
    await oauth.tool(second.access),
    await oauth.refresh(client, second.refresh),
    await oauth.redeem(client, { code, verifier }),
    await oauth.decide(question),
    await oauth.call('/register', { method: 'POST', body: { client_secret: client.secret } }),
  );
  oauth.database.send = (send) => send();
  failing.push(await oauth.redeem(client, { code, verifier }));

  const secrets = [code, first.access, first.refresh, second.access, second.refresh].map(
    (token) => token.split(':')[2] as string,
  );
  secrets.push(client.secret ?? '', question.handle, verifier, oauth.person.secret);
  expect(secrets.every((secret) => secret.length >= 32)).toBe(true);
  const shown = {
    logs: JSON.stringify(
      logged.map((line) => line.map((part) => (part instanceof Error ? part.stack : part))),
    ),
    errors: JSON.stringify(failing.map(({ text, headers }) => [text, [...headers]])),
    database: await dump(oauth.db),
  };
  expect(failing.map(({ status }) => status)).not.toContain(200);
  expect(logged.length).toBeGreaterThan(0);
  for (const [place, text] of Object.entries(shown))
    for (const secret of secrets) expect([place, text.includes(secret)]).toEqual([place, false]);

  for (const { headers } of [question.page, allowed])
    expect(headers.get('referrer-policy')).toMatch(/^(same-origin|no-referrer)$/);
  vi.restoreAllMocks();
});

async function dump(db: Awaited<ReturnType<typeof openTestOAuth>>['db']): Promise<string> {
  const tables = await db.all<{ name: string }>(sql`select name from sqlite_master where type = 'table'`);
  const rows = await Promise.all(
    tables.map(({ name }) => db.all(sql`select * from ${sql.identifier(name)}`)),
  );
  return JSON.stringify(rows, (_, value) =>
    value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value,
  );
}
