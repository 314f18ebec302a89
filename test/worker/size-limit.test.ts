import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { run } from './push/harness.ts';

const registry = await run();
const { hostname, port } = new URL(registry.url);
const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 'x');

/**
 * Sends a body of `bytes` over a socket of its own, all of it before it reads, as plain clients do; stops where the
 * connection breaks. Gives what came back, and how much went out.
 */
async function send(path: string, bytes: number, { chunked = false, token = registry.token } = {}) {
  const socket = connect(Number(port), hostname);
  let answer = '';
  let broken = false;
  socket.pause();
  socket.on('error', () => {
    broken = true;
  });
  const closed = once(socket, 'close').catch(() => undefined);
  const length = chunked ? 'transfer-encoding: chunked' : `content-length: ${bytes}`;
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'connection: close',
    length,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  let sent = 0;
  for (; sent < bytes && !broken; sent += PIECE.length) {
    if (chunked) socket.write(`${PIECE.length.toString(16)}\r\n`);
    const flows = socket.write(PIECE);
    if (chunked) socket.write('\r\n');
    if (!flows) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
    if (socket.destroyed) broken = true;
  }
  if (chunked && !broken) socket.write('0\r\n\r\n');
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  socket.resume();
  await closed;
  return { status: answer.match(/^HTTP\/1\.1 (\d+)/)?.[1] ?? 'no answer', answer, sent };
}

const OAUTH = 'The body has more than 65536 bytes';

describe.each([
  ['a declared length', false],
  ['chunks', true],
])('a body in %s that is refused is answered to who sends it whole', (_, chunked) => {
  test.each([
    ['/register', 8 * MIB, '413', OAUTH],
    ['/token', 8 * MIB, '413', OAUTH],
    ['/revoke', 8 * MIB, '413', OAUTH],
    ['/authorize', 8 * MIB, '413', OAUTH],
    ['/auth/login/options', 8 * MIB, '413', 'The body has more than 3 MiB'],
    ['/api/v1/items', 8 * MIB, '413', 'has more than 3 MiB'],
    ['/mcp', 8 * MIB, '413', 'The message has more than 3 MiB'],
    ['/nothing-here', 8 * MIB, '404', 'There is nothing at this address'],
    ['/health', 8 * MIB, '405', 'POST'],
  ])('%s', async (path, bytes, status, sentence) => {
    const { answer, ...rest } = await send(path, bytes, { chunked });
    expect(rest).toEqual({ status, sent: bytes });
    expect(answer).toContain(sentence);
  });

  test('to nobody that the credentials name', async () => {
    const { status } = await send('/api/v1/tokens', 2 * MIB, { chunked, token: 'sk_nothing' });
    expect(status).toBe('401');
  });

  test.each(['/register', '/mcp', '/nothing-here'])(
    '%s takes in 16 MiB of one that goes on',
    async (path) => {
      const { sent } = await send(path, 256 * MIB, { chunked });
      expect(sent).toBeLessThan(64 * MIB);
    },
  );
});

test('a refused body that stops on its way is answered all the same', async () => {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  const head = ['POST /nothing-here HTTP/1.1', `host: ${hostname}:${port}`, 'content-length: 1000'];
  socket.write(`${head.join('\r\n')}\r\n\r\nthe beginning`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 404/);
});
