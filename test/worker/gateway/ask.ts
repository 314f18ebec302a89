import type { TestApi } from '../api/harness.ts';
import { headersOf } from '../mcp/harness.ts';

/** One request of revision 2025-06-18 to an MCP endpoint of the registry, and what goes on after its answer. */
export async function ask(
  api: TestApi,
  path: string,
  { method, params = {}, token }: { method: string; params?: object; token: string },
) {
  const answer = await api.call(path, {
    method: 'POST',
    token,
    headers: headersOf(method, {}, '2025-06-18'),
    body: { jsonrpc: '2.0', id: 1, method, params },
  });
  await api.settle();
  const { status, text } = answer;
  return { status, text, result: () => JSON.parse(text.slice(text.indexOf('{'))).result };
}

/** A call of the API that has to succeed. */
export async function change(
  api: TestApi,
  path: string,
  { method, body, token }: { method: string; body?: unknown; token: string },
): Promise<void> {
  const { status, text } = await api.call(`/api/v1${path}`, { method, token, body });
  if (status >= 300) throw new Error(text);
}
