import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRoot } from '../../../agent/disk/containment.ts';
import { placeFolder } from '../../../agent/disk/place-folder.ts';
import { recover } from '../../../agent/disk/recover.ts';
import { writeFile } from '../../../agent/disk/write-file.ts';
import { bytes, digest, freshHome, left, put, tree } from './fixture.ts';

const path = 'alpha/SKILL.md';
const large = 'x'.repeat(100_000);

/** A disk of 512 KiB, where this user may mount one. */
function smallDisk(): string | null {
  const { home } = freshHome();
  const disk = join(home, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return null;
  }
  onTestFinished(() => void execFileSync('umount', [disk]));
  return disk;
}

test('on a disk that is really full, the old file stays and the next pass succeeds', async ({ skip }) => {
  const disk = smallDisk();
  if (!disk) return skip('only a user who may mount a small disk can try this');
  put(disk, { [`skills/${path}`]: 'old' });
  const root = openRoot(join(disk, 'skills'));
  const filler = join(disk, 'filler');
  writeFileSync(filler, 'x'.repeat(450_000));
  const update = () => writeFile(root, { path, bytes: bytes(large), executable: false, base: digest('old') });
  const files = [1, 2, 3].map((n) => ({
    path: `${n}.md`,
    bytes: bytes(large.slice(0, 40_000)),
    executable: false,
  }));
  const place = () => placeFolder(root, { name: 'beta', files });

  expect(await update()).toMatchObject({ done: 'failed', code: 'ENOSPC' });
  expect(await place()).toMatchObject({ done: 'failed', code: 'ENOSPC' });
  await recover(root);
  expect(tree(root.real)).toEqual({ [path]: 'old' });
  expect(left(root, 'staging')).toEqual([]);

  rmSync(filler);
  expect(await update()).toEqual({ done: 'written', digest: digest(large) });
  expect(await place()).toEqual({ done: 'written' });
});

test('a client folder that is a mount of its own is refused', ({ skip }) => {
  const disk = smallDisk();
  if (!disk) return skip('only a user who may mount a small disk can try this');
  expect(() => openRoot(disk)).toThrow('is a mount of its own');
});
