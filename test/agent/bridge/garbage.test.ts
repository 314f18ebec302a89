import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runBridge } from '../../../agent/bridge/bridge.ts';
import { freshFolder } from '../registry.ts';

test('what is no message is told in a sentence without its content, and the next one is answered', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said = text(stderr);
  const answered = text(stdout);
  const env = { REPERTOIRE_STATE: freshFolder('state') };
  const bridge = runBridge({
    stdin,
    stdout,
    stderr,
    env,
    home: env.REPERTOIRE_STATE,
    platform: 'linux',
    version: '0',
  });
  stdin.write('garbage\n{"secret":1}\n[]\nnull\n\0\n');
  stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  const first = await new Promise<string>((resolve) =>
    stdout.once('data', (chunk) => resolve(String(chunk))),
  );
  expect(JSON.parse(first)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('not paired') },
  });
  stdin.end('{"jsonrpc":');
  await bridge;
  stdout.end();
  stderr.end();
  expect((await answered).trimEnd().split('\n')).toHaveLength(1);
  const lines = (await said).trimEnd().split('\n');
  expect(new Set(lines.slice(0, -1))).toEqual(
    new Set(['repertoire: A message could not be read: it is no message of the protocol.']),
  );
  expect(lines.at(-1)).toMatch(/is not paired/);
});
