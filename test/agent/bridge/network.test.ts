import { PassThrough } from 'node:stream';
import { Client, ReadBuffer, serializeMessage } from '@modelcontextprotocol/client';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { runBridge } from '../../../agent/bridge/bridge.ts';
import type { Timing } from '../../../agent/bridge/exchange.ts';
import type { Registry as Api } from '../../../agent/registry.ts';
import type { Local } from '../../../worker/local/serve.ts';
import { startRegistry, TestDevice } from '../registry.ts';
import { call, skills } from './harness.ts';

let local: Local;
let owner: Api;

beforeAll(async () => {
  ({ local, owner } = await startRegistry());
  await owner.create({ kind: 'skill', name: 'tea', description: 'How to make tea.', instructions: 'Boil.' });
});

type Network = (send: () => Promise<Response>, url: string) => Promise<Response>;

/** A bridge in this process whose way to `/mcp` is disturbed. */
async function bridged(network: { now: Network }, timing: Partial<Timing> = { read: 60_000 }) {
  const device = await TestDevice.pair(local);
  await device.once();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const over = runBridge({
    ...device.options.machine,
    stdin,
    stdout,
    stderr,
    version: '0.0.0-test',
    timing,
    fetch: (input, init) => {
      const url = String(input);
      const send = () => fetch(input, init);
      return url.endsWith('/mcp') ? network.now(send, url) : send();
    },
  });
  const buffer = new ReadBuffer();
  const client = new Client({ name: 'test-client', version: '1' });
  onTestFinished(async () => {
    await client.close();
    await over;
  });
  await client.connect({
    start: async () => {
      stdout.on('data', (chunk) => {
        buffer.append(chunk);
        for (let read = buffer.readMessage(); read; read = buffer.readMessage())
          client.transport?.onmessage?.(read);
      });
    },
    send: async (message) => void stdin.write(serializeMessage(message)),
    close: async () => void stdin.end(),
  });
  return client;
}

const through: Network = (send) => send();
const broken = () =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) });

test('a write whose answer is lost is not sent again, and the sentence says that it may be saved', async () => {
  const network = { now: through };
  const client = await bridged(network);
  let sent = 0;
  network.now = async (send) => {
    sent++;
    await send();
    throw broken();
  };
  const write = { action: 'create', name: 'coffee', description: 'D.', instructions: 'I.' };
  expect(await call(client, 'skill_edit', write)).toEqual({
    isError: true,
    text: 'The connection broke off before the registry answered, so it is not known whether this was saved; read the item to see, before trying again.',
  });
  expect(sent).toBe(1);
  expect((await owner.item({ kind: 'skill', name: 'coffee' })).revision).toBe(1);
});

test('a read is sent once more when a kept connection was closed', async () => {
  const network = { now: through };
  const client = await bridged(network);
  let sent = 0;
  network.now = async (send) => {
    if (sent++ === 0) throw broken();
    return send();
  };
  expect(await skills(client, { action: 'list' })).not.toHaveProperty('notice');
  expect(sent).toBe(2);
});

test.each([
  [
    'a page of the hotel',
    () => new Response('<html>Sign in</html>', { headers: { 'content-type': 'text/html' } }),
  ],
  ['an error of a proxy', () => new Response('bad gateway', { status: 502 })],
  [
    'half an answer',
    () => new Response('{"jsonrpc":"2.0"', { headers: { 'content-type': 'application/json' } }),
  ],
])('%s is no answer of the registry', async (_, answer) => {
  const network = { now: through };
  const client = await bridged(network);
  network.now = async () => answer();
  expect((await skills(client, { action: 'list' })).notice).toContain('The registry cannot be reached.');
  const write = { action: 'create', name: 'milk', description: 'D.', instructions: 'I.' };
  expect((await call(client, 'skill_edit', write)).text).toContain('it is not known whether this was saved');
});

test('a network that swallows everything costs one wait, then answers come at once', async () => {
  let sent = 0;
  const swallowed = () => {
    sent++;
    return new Promise<Response>(() => {});
  };
  const client = await bridged({ now: swallowed }, { read: 1, away: 3_600_000 });
  expect(client.getInstructions()).toContain('Registry unreachable;');
  expect((await skills(client, { action: 'list' })).notice).toContain('The registry cannot be reached.');
  expect(sent).toBeLessThan(2);
});

test('an access token that is no longer taken is renewed', async () => {
  const network = { now: through };
  const client = await bridged(network);
  let refused = 0;
  network.now = async (send) => {
    if (refused++ > 0) return send();
    return Response.json({}, { status: 401, headers: { 'www-authenticate': 'DPoP error="invalid_token"' } });
  };
  const write = { action: 'create', name: 'water', description: 'D.', instructions: 'I.' };
  expect((await call(client, 'skill_edit', write)).isError).toBe(false);
  expect(refused).toBe(2);
});

test('a cancelled request is not answered, and ends on the way', async () => {
  const network = { now: through };
  const client = await bridged(network);
  const reached = Promise.withResolvers<void>();
  network.now = () => {
    reached.resolve();
    return new Promise(() => {});
  };
  const stop = new AbortController();
  const asked = client.callTool({ name: 'skills', arguments: { action: 'list' } }, { signal: stop.signal });
  await reached.promise;
  stop.abort();
  await expect(asked).rejects.toThrow();
  network.now = through;
  expect((await skills(client, { action: 'list' })).total).toBeGreaterThan(0);
});

test('a refusal of the registry is told as it is', async () => {
  const network = { now: through };
  const client = await bridged(network);
  const text = 'x'.repeat(3 * 1024 * 1024);
  const large = { action: 'create', name: 'large', description: 'D.', instructions: text };
  expect(await call(client, 'skill_edit', large)).toMatchObject({
    isError: true,
    text: expect.stringContaining('more than 3 MiB'),
  });
});
