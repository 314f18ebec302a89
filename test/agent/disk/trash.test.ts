import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeFolder } from '../../../agent/disk/place-folder.ts';
import { sweepTrash, TRASH_MS } from '../../../agent/disk/trash.ts';
import { removeFile, writeFile } from '../../../agent/disk/write-file.ts';
import { bytes, digest, freshRoot, left, trashed, tree } from './fixture.ts';

const path = 'alpha/SKILL.md';
const START = Date.UTC(2030, 0, 1);

function withClock() {
  const clock = { now: START };
  const root = freshRoot({ [path]: 'old' }, { now: () => clock.now });
  const update = () => writeFile(root, { path, bytes: bytes('new'), executable: false, base: digest('old') });
  return { root, clock, update };
}

test('what was replaced is kept for 30 days', async () => {
  const { root, clock, update } = withClock();
  await update();
  for (const age of [0, 3600_000, 2 * 24 * 3600_000, TRASH_MS - 1]) {
    clock.now = START + age;
    expect(await sweepTrash(root)).toEqual([]);
    expect(trashed(root)).toEqual(['old']);
  }
  clock.now = START + TRASH_MS;
  expect(await sweepTrash(root)).toEqual([]);
  expect(left(root, 'trash')).toEqual([]);
});

test.each([600_000, TRASH_MS])(
  'an editor that held the old file open is not lost (seen after %i ms)',
  async (age) => {
    const { root, clock, update } = withClock();
    const fd = openSync(join(root.real, path), 'r+');
    await update();
    writeSync(fd, 'edit', 0);
    closeSync(fd);
    clock.now = START + age;
    const copy = `${path}.conflict-${digest('edit').slice(0, 8)}`;
    expect(await sweepTrash(root)).toEqual([{ path, copy }]);
    expect(tree(root.real)).toEqual({ [path]: 'new', [copy]: 'edit' });
    expect(left(root, 'trash')).toEqual([]);
  },
);

test('where the folder is gone, such an edit is kept for good', async () => {
  const { root, clock } = withClock();
  const fd = openSync(join(root.real, path), 'r+');
  await removeFolder(root, 'alpha', [{ path: 'SKILL.md', digest: digest('old') }]);
  writeSync(fd, 'edit', 0);
  closeSync(fd);
  const [rescued] = await sweepTrash(root);
  expect(readFileSync(rescued?.copy as string, 'utf8')).toBe('edit');
  clock.now = START + 10 * TRASH_MS;
  expect(await sweepTrash(root)).toEqual([]);
  expect(existsSync(rescued?.copy as string)).toBe(true);
  expect(tree(root.real)).toEqual({});
});

test('a clock that runs backwards deletes nothing', async () => {
  const { root, clock } = withClock();
  await removeFile(root, path, digest('old'));
  clock.now = 0;
  await sweepTrash(root);
  expect(trashed(root)).toEqual(['old']);
});

test('a root without a store has no trash', async () => {
  const { root } = withClock();
  rmSync(root.store, { recursive: true, force: true });
  expect(await sweepTrash(root)).toEqual([]);
  expect(existsSync(root.store)).toBe(false);
});
