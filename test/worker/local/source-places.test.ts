import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { bundleWorker } from '../../../worker/local/bundle.ts';
import { startLocal } from '../../../worker/local/serve.ts';
import { placeInSources } from '../../../worker/local/source-places.ts';
import { ROOT } from '../push/harness.ts';

const WORKER = `import { logged } from '${ROOT}worker/log.ts';
export { Doorbell } from '${ROOT}worker/index.ts';

function deep(): never {
  throw new Error('x');
}

export default {
  fetch(): Response {
    console.log('before');
    try {
      deep();
    } catch (error) {
      logged(error);
    }
    console.log('after');
    return new Response();
  },
};
`;

let folder: string;
let entry: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'repertoire-places-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  entry = join(folder, 'entry.ts');
  await writeFile(entry, WORKER);
});

test('a stack in the log names files and lines of the sources, and lines keep their order', async () => {
  const lines: string[] = [];
  const local = await startLocal({
    port: 0,
    data: join(folder, 'data'),
    entry,
    log: (line) => lines.push(line),
  });
  try {
    await fetch(local.url);
    await expect.poll(() => lines.at(-1), { timeout: 60_000 }).toBe('after');
  } finally {
    await local.stop();
  }
  expect(lines).toEqual(['before', expect.stringContaining('Error'), 'after']);
  expect(lines[1]).toMatch(/ {4}at deep \(\S*\/entry\.ts:5:\d+\)\n {4}at \S*fetch \(\S*\/entry\.ts:12:\d+\)/);
});

test('workerd is not given the map', async () => {
  expect(await bundleWorker(entry)).not.toContain('sourceMappingURL');
});

test('sources that have changed since are not guessed at', async () => {
  const lines: string[] = [];
  const log = placeInSources((line) => lines.push(line), { entry, code: await bundleWorker(entry) });
  const at = '    at deep (file:///a/script-0.mjs:1:2)';
  await writeFile(entry, WORKER.replace("'x'", "'y'"));
  log.write(at);
  log.write('after');
  await log.written();
  expect(lines).toEqual([at, 'after']);
});
