import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Escape, inside, openRoot } from '../../../agent/disk/containment.ts';
import { placeFolder, removeFolder } from '../../../agent/disk/place-folder.ts';
import { recover } from '../../../agent/disk/recover.ts';
import { removeFile, writeFile } from '../../../agent/disk/write-file.ts';
import { bytes, digest, freshHome, freshRoot, left, once, put, tree } from './fixture.ts';

const path = 'alpha/refs/a.md';
const wish = (base: string | null) => ({ path, bytes: bytes('new'), executable: false, base });

describe('the root', () => {
  test('may be a link: real files are written where it leads, and the store lies beside those', async () => {
    const { home, skills } = freshHome();
    mkdirSync(join(home, 'dotfiles/skills'), { recursive: true });
    rmSync(skills, { recursive: true });
    symlinkSync('dotfiles/skills', skills);
    const root = openRoot(skills);
    await writeFile(root, wish(null));
    expect(tree(join(home, 'dotfiles/skills'))).toEqual({ [path]: 'new' });
    expect(root.store).toMatch(join(root.real, '..', '.repertoire-'));
    expect(tree(skills)).toEqual({ [path]: 'new' });
  });

  test('is made when asked to', () => {
    const { home } = freshHome();
    expect(openRoot(join(home, 'a/b'), { create: true }).real).toMatch(/a\/b$/);
    expect(() => openRoot(join(home, 'c'))).toThrow('does not exist');
  });

  test.skipIf(process.getuid === undefined)('is one that may be read, for else each item looks gone', () => {
    const { home, skills } = freshHome({ 'alpha/SKILL.md': 'mine' });
    chmodSync(home, 0o777);
    chmodSync(skills, 0o000);
    const module = new URL('../../../agent/disk/containment.ts', import.meta.url);
    const script = `import { openRoot } from '${module}'; openRoot(process.argv[1]);`;
    const user = process.getuid?.() === 0 ? { uid: 65_534 } : {};
    const args = ['--input-type=module', '-e', script, skills];
    const { stderr } = spawnSync(process.execPath, args, { ...user, encoding: 'utf8' });
    expect(stderr).toContain(`${skills} cannot be reached or made (EACCES).`);
    chmodSync(skills, 0o755);
  });

  test('is no dangling link and no file', () => {
    const { home } = freshHome({ file: '' });
    symlinkSync('nowhere', join(home, 'link'));
    expect(() => openRoot(join(home, 'link'))).toThrow('leads nowhere');
    expect(() => openRoot(join(home, 'link'), { create: true })).toThrow('leads nowhere');
    symlinkSync('circle', join(home, 'circle'));
    expect(() => openRoot(join(home, 'circle'))).toThrow('leads in a circle');
    expect(() => openRoot(join(home, 'skills/file'))).toThrow('is not a folder');
    expect(() => openRoot(join(home, 'skills/file/sub'), { create: true })).toThrow('is not a folder');
  });

  test('with a link in place of the store is not written', async () => {
    const root = freshRoot();
    put(root.home, { 'outside/keep': '' });
    symlinkSync('outside', root.store);
    expect((await writeFile(root, { ...wish(null), path: 'x.md' })).done).toBe('kept');
    expect(tree(join(root.home, 'outside'))).toEqual({ keep: '' });
  });
});

test.each([
  '../x',
  'alpha/../../x',
  '/etc/x',
  'alpha//x',
  'alpha/./x',
  '',
  'alpha/',
  'alpha/a\\b',
  'alpha/nul.md',
  'alpha/.git/x',
])('the path "%s" is refused before anything is touched', async (hostile) => {
  const steps: string[] = [];
  const root = freshRoot({}, { step: (step) => steps.push(step) });
  expect((await writeFile(root, { ...wish(null), path: hostile })).done).toBe('failed');
  expect((await removeFile(root, hostile, digest(''))).done).toBe('failed');
  expect(steps).toEqual([]);
  expect(tree(root.home)).toEqual({ skills: '(empty)' });
});

test.each(['../x', '.', '..', 'a/b', ''])('the item name "%s" is refused', async (name) => {
  const steps: string[] = [];
  const root = freshRoot({}, { step: (step) => steps.push(step) });
  const files = [{ path: 'SKILL.md', bytes: bytes(''), executable: false }];
  expect((await placeFolder(root, { name, files })).done).toBe('failed');
  expect(steps).toEqual([]);
  expect(tree(root.home)).toEqual({ skills: '(empty)' });
});

describe('a link below the root', () => {
  test.each(['alpha', 'alpha/refs'])('at %s is not followed', async (at) => {
    const root = freshRoot({ 'alpha/SKILL.md': 'mine' });
    put(root.home, { 'outside/refs/a.md': 'old', 'outside/a.md': 'old' });
    rmSync(join(root.real, at), { recursive: true, force: true });
    symlinkSync(join(root.home, 'outside'), join(root.real, at));
    const before = tree(root.home);
    expect(await writeFile(root, wish(digest('old')))).toEqual({ done: 'kept', reason: 'link' });
    expect(await writeFile(root, wish(null))).toEqual({ done: 'kept', reason: 'link' });
    expect(await removeFile(root, path, digest('old'))).toEqual({ done: 'kept', reason: 'link' });
    const removed = await removeFolder(root, 'alpha', [{ path: 'refs/a.md', digest: digest('old') }]);
    expect(removed).toMatchObject({
      removed: [],
      kept: [{ path: 'refs/a.md', reason: 'link' }],
    });
    expect(tree(root.home)).toEqual(before);
  });

  test('in place of an item keeps the item out', async () => {
    const root = freshRoot();
    symlinkSync('nowhere', join(root.real, 'alpha'));
    const files = [{ path: 'SKILL.md', bytes: bytes('new'), executable: false }];
    expect(await placeFolder(root, { name: 'alpha', files })).toEqual({ done: 'kept', reason: 'exists' });
    expect(tree(root.real)).toEqual({ alpha: '(link)' });
  });
});

describe.each([true, false])(
  "a link put in a parent's place in mid-write (folder handles: %s)",
  (handles) => {
    const steps = ['stage', 'content', 'sync', 'aside', 'link', 'unstage', 'retire'];
    const outsides = [
      { 'refs/a.md': 'theirs', 'a.md': 'theirs' },
      { 'refs/x': 'theirs', x: 'theirs' },
    ];
    const matrix = ['alpha', 'alpha/refs'].flatMap((swapped) =>
      outsides.map((outside) => ({ swapped, outside })),
    );
    for (const { swapped, outside } of matrix) {
      const name = `${swapped} for one with ${Object.keys(outside)} at %s: no byte outside, none lost`;
      test.each(steps)(name, async (step) => {
        const swap = () => {
          renameSync(join(root.real, swapped), join(root.home, 'moved'));
          symlinkSync(join(root.home, 'outside'), join(root.real, swapped));
        };
        const root = freshRoot({ [path]: 'old' }, { handles, step: (now) => disturb(now) });
        const disturb = once(step, swap);
        put(join(root.home, 'outside'), outside);
        await writeFile(root, wish(digest('old')));
        await recover(root);
        expect(tree(join(root.home, 'outside'))).toEqual(outside);
        expect(Object.values(tree(root.home))).toContain('old');
        expect(left(root, 'staging')).toEqual([]);
      });
    }

    test('the root itself: nothing is written where it now leads', async () => {
      const root = freshRoot({}, { handles, step: (now) => disturb(now) });
      const disturb = once('appear', () => {
        renameSync(root.real, join(root.home, 'moved'));
        mkdirSync(join(root.home, 'outside'));
        symlinkSync(join(root.home, 'outside'), root.real);
      });
      const files = [{ path: 'SKILL.md', bytes: bytes('new'), executable: false }];
      expect((await placeFolder(root, { name: 'alpha', files })).done).toBe('kept');
      expect(tree(join(root.home, 'outside'))).toEqual({});
    });
  },
);

test.runIf(process.platform === 'linux')(
  'with handles, a path given before the swap does not follow it',
  async () => {
    const root = freshRoot({ 'alpha/SKILL.md': 'old' }, { handles: true });
    mkdirSync(join(root.home, 'outside'));
    await inside(root, 'alpha/new', { create: false }, (at) => {
      const place = at();
      renameSync(join(root.real, 'alpha'), join(root.real, 'beta'));
      symlinkSync(join(root.home, 'outside'), join(root.real, 'alpha'));
      writeFileSync(place, 'new');
      expect(() => at()).toThrow(Escape);
    });
    expect(tree(join(root.home, 'outside'))).toEqual({});
    expect(tree(root.real)).toMatchObject({ 'beta/new': 'new' });
  },
);

test('folder handles are closed again, also after refusals', async () => {
  const open = () =>
    process.platform === 'linux'
      ? execFileSync('ls', [`/proc/${process.pid}/fd`])
          .toString()
          .split('\n')
      : [];
  const root = freshRoot({ [path]: 'old' });
  await removeFile(root, path, digest('other'));
  const before = open().length;
  for (let i = 0; i < 50; i++) {
    await writeFile(root, wish(digest(i % 2 ? 'new' : 'old')));
    await removeFile(root, 'alpha/gone/x', digest('x'));
    await removeFile(root, 'alpha/refs/a.md/x', digest('x'));
  }
  expect(open().length).toBeLessThan(before + 10);
});
