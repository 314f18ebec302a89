import { chmodSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { placeFolder, removeFolder } from '../../../agent/disk/place-folder.ts';
import { recover } from '../../../agent/disk/recover.ts';
import { bytes, digest, freshRoot, left, once, put, systemError, trashed, tree } from './fixture.ts';

const content = { 'SKILL.md': 'main', 'refs/a.md': 'a', 'refs/deep/b.txt': 'b', 'run.sh': 'c' };
const wish = {
  name: 'alpha',
  files: Object.entries(content).map(([path, text]) => ({
    path,
    bytes: bytes(text),
    executable: path === 'run.sh',
  })),
};
const listed = Object.entries(content).map(([path, text]) => ({ path, digest: digest(text) }));

describe('placing', () => {
  test('the folder appears complete, by one change', async () => {
    const seen: string[] = [];
    const root = freshRoot(
      {},
      { step: (step) => seen.push(`${step} ${Object.keys(tree(root.real)).length}`) },
    );
    expect(await placeFolder(root, wish)).toEqual({ done: 'written' });
    expect(tree(join(root.real, 'alpha'))).toEqual(content);
    expect(new Set(seen)).toEqual(new Set(['stage 0', 'content 0', 'sync 0', 'appear 0']));
    expect(lstatSync(join(root.real, 'alpha/run.sh')).mode & 0o111).toBe(0o111);
    expect(lstatSync(join(root.real, 'alpha/SKILL.md')).mode & 0o111).toBe(0);
    expect(left(root, 'staging')).toEqual([]);
  });

  test('more files than are opened at once', async () => {
    const root = freshRoot();
    const files = Array.from({ length: 100 }, (_, n) => ({
      path: `f${n}`,
      bytes: bytes(`${n}`),
      executable: false,
    }));
    await placeFolder(root, { name: 'alpha', files });
    expect(Object.keys(tree(root.real))).toHaveLength(100);
  });

  test.each([
    ['a folder of a person', () => freshRoot({ 'alpha/mine': 'mine' })],
    [
      'an empty folder',
      () => {
        const root = freshRoot();
        mkdirSync(join(root.real, 'alpha'));
        return root;
      },
    ],
    ['a file', () => freshRoot({ alpha: 'mine' })],
  ])('%s of that name stays', async (_what, fresh) => {
    const root = fresh();
    const before = tree(root.real);
    expect(await placeFolder(root, wish)).toEqual({ done: 'kept', reason: 'exists' });
    expect(tree(root.home)).toEqual(
      Object.fromEntries(Object.entries(before).map(([path, text]) => [`skills/${path}`, text])),
    );
  });

  test.each(['alpha/mine', 'alpha'])('%s that appears at the last moment stays', async (path) => {
    const root = freshRoot({}, { step: once('appear', () => put(root.real, { [path]: 'mine' })) });
    expect(await placeFolder(root, wish)).toEqual({ done: 'kept', reason: 'exists' });
    expect(tree(root.real)).toEqual({ [path]: 'mine' });
    expect(left(root, 'staging')).toEqual([]);
  });

  test.each([
    ['stage', 1],
    ['content', 1],
    ['content', 4],
    ['sync', 3],
    ['appear', 1],
  ] as const)('a full disk at %s %i leaves no folder and nothing behind', async (step, n) => {
    const full = once(
      step,
      () => {
        throw systemError('ENOSPC');
      },
      n,
    );
    const root = freshRoot({}, { step: full });
    expect(await placeFolder(root, wish)).toMatchObject({ done: 'failed', code: 'ENOSPC' });
    expect(tree(root.real)).toEqual({});
    expect(left(root, 'staging')).toEqual([]);
    expect(await placeFolder(root, wish)).toEqual({ done: 'written' });
  });

  test('paths that collide are refused', async () => {
    const root = freshRoot();
    const files = ['a.md', 'A.md'].map((path) => ({ path, bytes: bytes(path), executable: false }));
    expect((await placeFolder(root, { name: 'alpha', files })).done).toBe('failed');
    expect(tree(root.home)).toEqual({ skills: '(empty)' });
  });
});

describe('removing', () => {
  test('all files to the trash, then the folder; the main file first', async () => {
    const order: (string | undefined)[] = [];
    const root = freshRoot(
      {},
      { step: (step) => step === 'retire' && order.push(tree(root.real)['alpha/SKILL.md']) },
    );
    await placeFolder(root, wish);
    order.length = 0;
    const outcome = await removeFolder(root, 'alpha', listed);
    expect(outcome).toEqual({ removed: expect.arrayContaining(Object.keys(content)), kept: [] });
    expect(order).toEqual([undefined, undefined, undefined, undefined]);
    expect(tree(root.real)).toEqual({});
    expect(trashed(root).sort()).toEqual(['a', 'b', 'c', 'main']);
  });

  test('changed and unknown files stay, and keep their folders', async () => {
    const root = freshRoot();
    await placeFolder(root, wish);
    put(root.real, { 'alpha/refs/a.md': 'edit', 'alpha/notes.txt': 'mine' });
    mkdirSync(join(root.real, 'alpha/empty'));
    symlinkSync('notes.txt', join(root.real, 'alpha/link'));
    const outcome = await removeFolder(root, 'alpha', listed);
    expect(outcome.kept).toEqual([{ path: 'refs/a.md', done: 'kept', reason: 'changed_here' }]);
    expect(tree(root.real)).toEqual({
      'alpha/refs/a.md': 'edit',
      'alpha/notes.txt': 'mine',
      'alpha/link': '(link)',
      'alpha/empty': '(empty)',
    });
  });

  test('a folder that is gone already', async () => {
    const root = freshRoot();
    expect(await removeFolder(root, 'alpha', listed)).toMatchObject({ kept: [] });
  });

  test('a failure in the middle leaves the rest for the next pass', async () => {
    const root = freshRoot({}, { step: (step) => fail(step) });
    let fail: (step: string) => void = () => {};
    await placeFolder(root, wish);
    fail = once(
      'aside',
      () => {
        throw systemError('EACCES');
      },
      2,
    );
    const outcome = await removeFolder(root, 'alpha', listed);
    expect(outcome.kept).toEqual([expect.objectContaining({ done: 'failed', code: 'EACCES' })]);
    await recover(root);
    expect(await removeFolder(root, 'alpha', listed)).toMatchObject({ kept: [] });
  });

  test('a folder whose mode forbids reading is reported, not thrown', async () => {
    const root = freshRoot();
    await placeFolder(root, wish);
    chmodSync(join(root.real, 'alpha'), 0o700);
    const outcome = await removeFolder(
      {
        ...root,
        step: () => {
          throw systemError('EPERM');
        },
      },
      'alpha',
      listed,
    );
    expect(outcome.kept).toHaveLength(4);
    expect(tree(join(root.real, 'alpha'))).toEqual(content);
  });
});
