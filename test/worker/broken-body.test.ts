import { expect, onTestFinished, test, vi } from 'vitest';
import { ORIGIN, openTestApi } from './api/harness.ts';

/** Who sends half of a body and goes, lets in or not, has nothing written to the log. */
test.each([
  ['POST', '/api/v1/items'],
  ['PUT', `/api/v1/blobs/sha256:${'0'.repeat(64)}`],
  ['POST', '/auth/login/options'],
  ['POST', '/mcp'],
  ['POST', '/mcp/docs'],
  ['POST', '/register'],
  ['POST', '/token'],
  ['POST', '/revoke'],
  ['POST', '/nothing-here'],
  ['POST', '/health'],
])('%s %s with a body that breaks off is no error of ours', async (method, path) => {
  const api = await openTestApi();
  const known = await api.token();
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  onTestFinished(() => log.mockRestore());
  for (const token of [known, 'sk_nothing'])
    for (const length of [null, '100', '9000000']) {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"half":')),
        pull: (controller) => controller.error(new Error('Network connection lost.')),
      });
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': path === '/token' ? 'application/x-www-form-urlencoded' : 'application/json',
        accept: 'application/json, text/event-stream',
        ...(length === null ? {} : { 'content-length': length }),
      };
      const { status } = await api.app.request(ORIGIN + path, {
        method,
        headers,
        body,
        duplex: 'half',
      } as RequestInit);
      expect(status, `${token.slice(0, 5)} ${length}`).toBeGreaterThanOrEqual(400);
      expect(status, `${token.slice(0, 5)} ${length}`).toBeLessThan(500);
    }
  expect(log).not.toHaveBeenCalled();
});
