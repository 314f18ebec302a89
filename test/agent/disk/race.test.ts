import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { recover } from '../../../agent/disk/recover.ts';
import { sweepTrash } from '../../../agent/disk/trash.ts';
import { removeFile, writeFile } from '../../../agent/disk/write-file.ts';
import type { Mode, Save } from './editor.ts';
import { bytes, digest, freshRoot, left, tree } from './fixture.ts';

/** REPERTOIRE_ROUNDS=10000 runs the full count. */
const ROUNDS = Number(process.env.REPERTOIRE_ROUNDS ?? 300);
const WITHIN_MICROSECONDS = 3000;
const path = 'alpha/SKILL.md';

const modes: Mode[] = ['rename', 'in place', 'delete', 'folder over'];
const acts = ['write', 'remove'] as const;
const matrix = acts.flatMap((act) => modes.map((mode) => ({ act, mode })));

test.each(matrix)(
  `an editor saves ($mode) while the agent is at a $act: ${ROUNDS} rounds, nothing lost`,
  { timeout: 60_000 + ROUNDS * 200 },
  async ({ act, mode }) => {
    const root = freshRoot();
    const editor = startEditor();
    const target = join(root.real, path);
    let saved = 0;
    for (let round = 0; round < ROUNDS; round++) {
      rmSync(dirname(target), { recursive: true, force: true });
      rmSync(root.store, { recursive: true, force: true });
      mkdirSync(dirname(target));
      writeFileSync(target, `old ${round}`);
      const text = `edit ${round}`;
      const base = digest(`old ${round}`);
      const save = await editor.ready({
        mode,
        path: target,
        text,
        after: Math.random() * WITHIN_MICROSECONDS,
      });
      save.go();
      const outcome =
        act === 'write'
          ? await writeFile(root, { path, bytes: bytes(`new ${round}`), executable: false, base })
          : await removeFile(root, path, base);
      const wrote = await save.done;
      await recover(root);
      await sweepTrash(root);

      const forThePerson = { ...tree(root.real), ...tree(join(root.store, 'kept')) };
      if (wrote) {
        saved++;
        expect(Object.values(forThePerson), `round ${round}: ${JSON.stringify(outcome)}`).toContain(text);
      }
      expect(left(root, 'staging')).toEqual([]);
      expect(outcome.done, JSON.stringify(outcome)).not.toBe('failed');
    }
    if (mode !== 'delete') expect(saved).toBeGreaterThan(0);
  },
);

function startEditor() {
  const shared = new SharedArrayBuffer(4);
  const start = new Int32Array(shared);
  const worker = new Worker(new URL('editor.ts', import.meta.url), { workerData: shared });
  onTestFinished(async () => void (await worker.terminate()));
  const next = <T>() => new Promise<T>((resolve) => worker.once('message', resolve));
  return {
    async ready(save: Save) {
      Atomics.store(start, 0, 0);
      const armed = next<'ready'>();
      worker.postMessage(save);
      await armed;
      return { done: next<boolean>(), go: () => void Atomics.store(start, 0, 1) };
    },
  };
}
