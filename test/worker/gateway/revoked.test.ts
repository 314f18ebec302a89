import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startGateway, type TestGateway } from './harness.ts';
import { startScripted } from './upstreams.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
}, 300_000);
afterAll(() => gateway.stop());

test.each([
  ['auto', '/mcp/slow', 'work'],
  ['legacy', '/mcp/slow', 'work'],
  ['legacy', '/mcp', 'slow_work'],
] as const)(
  'a call that is under way ends with the credential that made it (%s at %s)',
  { timeout: 300_000 },
  async (mode, path, name) => {
    const given = Promise.withResolvers<void>();
    const upstream = await startScripted(({ method, params, event, result, response }) => {
      if (method === 'tools/list')
        return result({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] });
      if (method !== 'tools/call') return;
      // It would go on for minutes.
      response.on('close', given.resolve);
      const { progressToken } = params._meta;
      event({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    });
    await gateway.addServer('slow', upstream.url, { in_main: true });
    onTestFinished(async () => {
      await gateway.api('DELETE', '/servers/slow');
      await upstream.stop();
    });
    const { json } = await gateway.api('POST', '/tokens', {
      name: 'a program',
      scopes: ['skills:read', 'skills:write'],
      days: 1,
    });
    const client = await gateway.connect(path, { mode, token: json.token });
    const revoke = () => void gateway.api('DELETE', `/tokens/${json.made.id}`);
    const answer = await client.callTool({ name, arguments: {} }, { onprogress: revoke, timeout: 290_000 });
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer.content)).toMatch(/API token is not known here, has expired or was revoked/);
    await given.promise;
  },
);
