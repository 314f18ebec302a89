import { expect, test } from 'vitest';
import { limitedAnswer } from '../../../worker/gateway/answer.ts';

const ASKED = JSON.stringify({ jsonrpc: '2.0', id: 'a1', method: 'tools/call', params: {} });
const ANSWER = JSON.stringify({ jsonrpc: '2.0', id: 'a1', result: { text: 'größer 🙂' } });
const PROGRESS = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: {} });
const event = (data: string, before = '') => `${before}data: ${data}\n\n`;

/** A response that comes in pieces of so many bytes, and then ends as told. */
function pieces(text: string, { size = 7, type = 'text/event-stream', fails = false } = {}): Response {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) {
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      } else if (fails) controller.error(new Error('broken'));
      else controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': type, 'mcp-session-id': 's' } });
}

const limited = (response: Response, asked: string | null = ASKED) =>
  limitedAnswer(response, { host: 'example.com', asked });

test('a stream that begins with the answer is given as JSON, however it is cut', async () => {
  const primed = `id: 1\ndata: \n\n${event(ANSWER, 'event: message\nid: 2\n')}`;
  for (const text of [
    event(ANSWER),
    `: hello\n\n${event(ANSWER)}`,
    primed,
    primed.replaceAll('\n', '\r\n'),
  ]) {
    for (const size of [5, 7, 1000]) {
      const answer = await limited(pieces(text, { size }));
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('mcp-session-id')).toBe('s');
      expect(await answer.text()).toBe(ANSWER);
    }
  }
});

test('the answer is enough: nobody waits for a stream that stays open', async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(event(ANSWER))),
  });
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
  expect(await (await limited(new Response(body, { headers }))).text()).toBe(ANSWER);
});

test('any other stream stays the one that it is', async () => {
  const other = event(ANSWER.replace('a1', 'a2'));
  const question = event(JSON.stringify({ jsonrpc: '2.0', id: 'a1', method: 'ping' }));
  for (const text of [
    event(PROGRESS) + event(ANSWER),
    other,
    question,
    event('no JSON'),
    event('7'),
    'data: half',
  ]) {
    const answer = await limited(pieces(text));
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(await answer.text()).toBe(text);
  }
  const unasked = await limited(pieces(event(ANSWER)), null);
  expect(await unasked.text()).toBe(event(ANSWER));
  const slow = await limited(pieces(event(ANSWER), { size: 1 }));
  expect(await slow.text()).toBe(event(ANSWER));
  const long = event(ANSWER.replace('größer', 'x'.repeat(400_000)));
  const answer = await limited(pieces(long, { size: 64 * 1024 }));
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  expect(await answer.text()).toBe(long);
});

test('a stream that breaks off still begins with what came, and then breaks off', async () => {
  const answer = await limited(pieces('data: half', { fails: true }));
  const reader = answer.body?.getReader();
  let text = '';
  await expect(
    (async () => {
      for (;;) text += new TextDecoder().decode((await reader?.read())?.value);
    })(),
  ).rejects.toThrow('broken');
  expect(text).toBe('data: half');
});

test('JSON comes whole; with more than 16 MiB, by itself or as a stream, it ends in a sentence', async () => {
  const json = await limited(pieces(ANSWER, { type: 'application/json; charset=utf-8' }));
  expect(await json.json()).toEqual(JSON.parse(ANSWER));
  const much = `"${'x'.repeat(16 * 1024 * 1024)}"`;
  const size = 1024 * 1024;
  const sentence =
    'example.com answered with more than 16 MiB, so the answer was dropped; ask for less at a time.';
  await expect(limited(pieces(much, { size, type: 'application/json' }))).rejects.toThrow(sentence);
  const stream = await limited(pieces(event(PROGRESS) + much, { size }));
  await expect(stream.text()).rejects.toThrow(sentence);
});
