import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fetchBounded } from '../../../agent/serve/bounded.ts';

const MOST = 1024 * 1024;

/** Reads what a server answers in these pieces; without `ends`, one that would go on for ever. */
async function read(type: string, pieces: string[], { ends = true } = {}): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const piece of pieces) response.write(piece);
    if (ends) response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (await fetchBounded(`http://127.0.0.1:${port}/`, {}, MOST)).text();
}

test('an answer without an end ends with a sentence', async () => {
  await expect(read('application/json', ['"', 'x'.repeat(MOST)], { ends: false })).rejects.toThrow(
    'one of its messages is larger than 1 MiB',
  );
  expect(await read('application/json', ['x'.repeat(MOST)])).toHaveLength(MOST);
});

test.each(['\n', '\r\n'])('a stream may be as long as it likes, and none of its events: %j', async (end) => {
  const event = `event: message${end}data: ${'x'.repeat(1000)}${end}${end}`;
  expect(await read('text/event-stream', Array(2000).fill(event))).toHaveLength(2000 * event.length);
  const line = `data: ${'x'.repeat(1000)}${end}`;
  await expect(read('text/event-stream', Array(2000).fill(line), { ends: false })).rejects.toThrow('1 MiB');
});
