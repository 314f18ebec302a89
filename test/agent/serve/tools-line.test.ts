import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { toolsWriter } from '../../../agent/serve/tools-line.ts';

const tool = (description: string) => ({ name: 'a', description, inputSchema: { type: 'object' } });
const answer = (id: string | number, result: Record<string, unknown>) => ({
  jsonrpc: '2.0' as const,
  id,
  result,
});

test('a list is one line that says what the message says, whether it is written again or anew', () => {
  const stdout = new PassThrough();
  const write = toolsWriter(stdout);
  const tools = [tool('one\n"two" \u2028 é')];
  const messages = [
    answer(1, { tools }),
    answer('x"y', { tools, ttlMs: 0, _meta: { tools: [] } }),
    answer(3, { nextCursor: 'n', tools: [tool('another')] }),
    answer(4, { tools: [] }),
  ];
  for (const message of messages) expect(write(message)).not.toBeNull();
  const lines = String(stdout.read()).split('\n');
  expect(lines.pop()).toBe('');
  expect(lines.map((line) => JSON.parse(line))).toEqual(messages);
});

test('what is no list of tools is left to others', () => {
  const stdout = new PassThrough();
  const write = toolsWriter(stdout);
  expect(write(answer(1, { prompts: [] }))).toBeNull();
  expect(write(answer(1, { tools: 'none' }))).toBeNull();
  expect(write({ jsonrpc: '2.0', method: 'tools/list', params: { tools: [] } })).toBeNull();
  expect(write({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } })).toBeNull();
  expect(stdout.read()).toBeNull();
});

test('it resolves when a reader that is behind has caught up', async () => {
  const stdout = new PassThrough({ highWaterMark: 10 });
  const written = toolsWriter(stdout)(answer(1, { tools: [tool('long enough to fill it')] }));
  let done = false;
  const resolved = written?.then(() => {
    done = true;
  });
  await Promise.resolve();
  expect(done).toBe(false);
  stdout.resume();
  await resolved;
  expect(done).toBe(true);
});
