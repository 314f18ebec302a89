import { expect, test } from 'vitest';
import { ROOT, run } from './push/harness.ts';

/** The Worker as it is, but without a binding where a request says so. */
const ENTRY = `
import worker from '${ROOT}worker/index.ts';
export { Doorbell } from '${ROOT}worker/index.ts';

export default {
  fetch(request, env, ctx) {
    const without = new URL(request.url).searchParams.get('without');
    return worker.fetch(request, without ? { ...env, [without]: undefined } : env, ctx);
  },
};
`;

test('the Worker says what it lacks, and serves once it has it', async () => {
  const registry = await run({ entry: ENTRY });
  for (const [without, named] of [
    ['SECRET_KEY', 'SECRET_KEY'],
    ['LIBSQL', 'DATABASE_URL'],
  ]) {
    const response = await registry.call('GET', `/health?without=${without}`);
    const problem = (await response.json()) as { code: string; detail: string };
    expect([response.status, problem.code]).toEqual([503, 'unavailable']);
    expect(problem.detail).toContain(`wrangler secret put ${named}`);
  }
  expect((await registry.call('GET', '/health')).status).toBe(200);

  // One database client serves every request of the isolate: callers that hang up must not take others with them.
  const headers = { authorization: `Bearer ${registry.token}` };
  const calls = Array.from({ length: 60 }, async (_, i) => {
    const hangUp = new AbortController();
    const call = fetch(`${registry.url}/api/v1/items`, { headers, signal: hangUp.signal });
    if (i % 2 === 0) {
      setTimeout(() => hangUp.abort(), 5);
      return call.then(
        () => 'answered',
        () => 'left',
      );
    }
    return String((await call).status);
  });
  const results = await Promise.all(calls);
  expect(results.filter((_, i) => i % 2 === 1)).toEqual(Array(30).fill('200'));
  expect((await registry.call('GET', '/api/v1/items')).status).toBe(200);
});
