import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Root } from '../../../agent/disk/containment.ts';
import { recover } from '../../../agent/disk/recover.ts';
import { removeFile, writeFile } from '../../../agent/disk/write-file.ts';
import { bytes, digest, freshRoot, left, once, systemError, trashed, tree } from './fixture.ts';

const path = 'alpha/SKILL.md';
const update = (root: Root, base: string | null = digest('old'), executable = false) =>
  writeFile(root, { path, bytes: bytes('new'), executable, base });

describe('writing', () => {
  test('a new file appears, with its folders', async () => {
    const root = freshRoot();
    expect(await update(root, null)).toEqual({ done: 'written', digest: digest('new') });
    expect(tree(root.real)).toEqual({ [path]: 'new' });
    expect(left(root, 'staging')).toEqual([]);
  });

  test('an update moves the old bytes to the trash', async () => {
    const root = freshRoot({ [path]: 'old' });
    expect(await update(root)).toEqual({ done: 'written', digest: digest('new') });
    expect(tree(root.real)).toEqual({ [path]: 'new' });
    expect(trashed(root)).toEqual(['old']);
    expect(left(root, 'staging')).toEqual([]);
  });

  test('a persona is one file directly in its root', async () => {
    const root = freshRoot({ 'x.md': 'old' });
    await writeFile(root, { path: 'x.md', bytes: bytes('new'), executable: false, base: digest('old') });
    expect(tree(root.real)).toEqual({ 'x.md': 'new' });
  });

  test('the executable bit comes along and can change alone', async () => {
    const root = freshRoot({ [path]: 'new' });
    expect((await update(root, digest('new'), true)).done).toBe('written');
    expect(lstatSync(join(root.real, path)).mode & 0o111).toBe(0o111);
    expect((await update(root, digest('new'), false)).done).toBe('written');
    expect(lstatSync(join(root.real, path)).mode & 0o111).toBe(0);
  });

  test('equal bytes are not written again', async () => {
    const root = freshRoot({ [path]: 'new' }, { step: () => expect.unreachable() });
    expect((await update(root)).done).toBe('written');
  });

  test.each([true, false])(
    'without hard links it is a copy, and never replaces (there: %s)',
    async (there) => {
      const root = freshRoot(
        { [path]: 'old' },
        {
          hardLinks: false,
          step: once('link', () => there && writeFileSync(join(root.real, path), 'theirs')),
        },
      );
      expect((await update(root)).done).toBe(there ? 'kept' : 'written');
      expect(tree(root.real)[path]).toBe(there ? 'theirs' : 'new');
      expect(left(root, 'staging')).toEqual([]);
    },
  );

  test("nothing temporary is ever in the client folder, and none of the agent's own files ends in .md", async () => {
    const seen: string[] = [];
    const root = freshRoot(
      { [path]: 'old' },
      {
        step: () => {
          seen.push(...Object.keys(tree(root.real)));
          for (const name of Object.keys(tree(root.store))) expect(name).not.toMatch(/\.md$/);
        },
      },
    );
    await update(root);
    await removeFile(root, path, digest('new'));
    expect(new Set(seen)).toEqual(new Set([path, 'alpha']));
    expect(readdirSync(root.home).filter((name) => name !== 'skills')).toEqual([
      expect.stringMatching(/^\.repertoire-/),
    ]);
  });
});

describe('what a person has there stays', () => {
  test.each([
    ['other bytes', () => freshRoot({ [path]: 'mine' }), 'changed_here'],
    ['a deleted file', () => freshRoot({ 'alpha/other.txt': '' }), 'gone'],
    ['a deleted folder', () => freshRoot(), 'gone'],
    ['a folder', () => freshRoot({ [`${path}/inner`]: 'mine' }), 'not_a_file'],
    ['a file for a folder', () => freshRoot({ alpha: 'mine' }), 'not_a_file'],
  ])('%s', async (_what, fresh, reason) => {
    const root = fresh();
    const before = tree(root.real);
    expect(await update(root)).toEqual({ done: 'kept', reason });
    expect(tree(root.real)).toEqual(before);
    expect(left(root, 'staging')).toEqual([]);
  });

  test('a file that the agent did not write', async () => {
    const root = freshRoot({ [path]: 'mine' });
    expect(await update(root, null)).toEqual({ done: 'kept', reason: 'exists' });
    expect(tree(root.real)).toEqual({ [path]: 'mine' });
  });

  test.each(['other.txt', 'nowhere'])('a link in place of the file, to %s', async (to) => {
    const root = freshRoot({ 'alpha/other.txt': 'old' });
    symlinkSync(to, join(root.real, path));
    expect(await update(root)).toEqual({ done: 'kept', reason: 'link' });
    expect(await update(root, null)).toEqual({ done: 'kept', reason: 'link' });
    expect(tree(root.real)).toEqual({ 'alpha/other.txt': 'old', [path]: '(link)' });
  });
});

describe('an editor comes in between', () => {
  test('saves before the old file moves aside: the edit becomes a conflict copy', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      { step: once('aside', () => writeFileSync(join(root.real, path), 'edit')) },
    );
    const copy = `${path}.conflict-${digest('edit').slice(0, 8)}`;
    expect(await update(root)).toEqual({ done: 'written', digest: digest('new'), copy });
    expect(tree(root.real)).toEqual({ [path]: 'new', [copy]: 'edit' });
  });

  test('saves while the path is free: the edit stays, ours lies beside', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      { step: once('link', () => writeFileSync(join(root.real, path), 'edit')) },
    );
    const incoming = `${path}.incoming-${digest('new').slice(0, 8)}`;
    expect(await update(root)).toEqual({ done: 'kept', reason: 'changed_here', incoming });
    expect(tree(root.real)).toEqual({ [path]: 'edit', [incoming]: 'new' });
    expect(trashed(root)).toEqual(['old']);
  });

  test('makes the file that was to be new', async () => {
    const root = freshRoot({}, { step: once('link', () => writeFileSync(join(root.real, path), 'edit')) });
    const incoming = `${path}.incoming-${digest('new').slice(0, 8)}`;
    expect(await update(root, null)).toEqual({ done: 'kept', reason: 'exists', incoming });
    expect(tree(root.real)).toEqual({ [path]: 'edit', [incoming]: 'new' });
  });

  test('deletes the file', async () => {
    const root = freshRoot({ [path]: 'old' }, { step: once('aside', () => rmSync(join(root.real, path))) });
    expect(await update(root)).toEqual({ done: 'kept', reason: 'gone' });
    expect(tree(root.real)).toEqual({ alpha: '(empty)' });
  });

  test('deletes the new file at once: the old one does not come back', async () => {
    const root = freshRoot({ [path]: 'old' }, { step: once('unstage', () => rmSync(join(root.real, path))) });
    expect((await update(root)).done).toBe('written');
    expect(tree(root.real)).toEqual({ alpha: '(empty)' });
  });

  test('comes back while the old file is being put back', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      {
        step: (step) => {
          if (step === 'link') throw systemError('ENOSPC');
          if (step === 'put-back') writeFileSync(join(root.real, path), 'edit');
        },
      },
    );
    await update(root);
    expect(tree(root.real)).toMatchObject({ [path]: 'edit' });
    expect(trashed(root)).toEqual(['old']);
  });

  test('puts a folder over it', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      {
        step: once('aside', () => {
          rmSync(join(root.real, path));
          mkdirSync(join(root.real, path));
          writeFileSync(join(root.real, path, 'inner'), 'edit');
        }),
      },
    );
    const outcome = await update(root);
    expect(outcome).toMatchObject({
      done: 'written',
      copy: expect.stringMatching(/^alpha\/SKILL\.md\.conflict-/),
    });
    const copy = (outcome as { copy: string }).copy;
    expect(tree(root.real)).toEqual({ [path]: 'new', [`${copy}/inner`]: 'edit' });
  });

  test('a copy never replaces another', async () => {
    const copy = `${path}.conflict-${digest('edit').slice(0, 8)}`;
    const root = freshRoot(
      { [path]: 'old', [copy]: 'a person wrote this' },
      { step: once('aside', () => writeFileSync(join(root.real, path), 'edit')) },
    );
    expect(await update(root)).toMatchObject({ done: 'written', copy: `${copy}-2` });
    expect(tree(root.real)).toEqual({ [path]: 'new', [copy]: 'a person wrote this', [`${copy}-2`]: 'edit' });
  });

  test('edits the file that is being removed: it returns', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      { step: once('aside', () => writeFileSync(join(root.real, path), 'edit')) },
    );
    expect(await removeFile(root, path, digest('old'))).toEqual({ done: 'kept', reason: 'changed_here' });
    expect(tree(root.real)).toEqual({ [path]: 'edit' });
  });

  test('moves the whole folder away: the old bytes are kept', async () => {
    const root = freshRoot(
      { [path]: 'old' },
      { step: once('link', () => renameSync(join(root.real, 'alpha'), join(root.real, 'beta'))) },
    );
    expect((await update(root)).done).toBe('kept');
    expect(tree(root.real)).toEqual({ beta: '(empty)' });
    expect(trashed(root)).toEqual(['old']);
  });
});

describe('removing', () => {
  test('moves the file to the trash', async () => {
    const root = freshRoot({ [path]: 'old' });
    expect(await removeFile(root, path, digest('old'))).toEqual({ done: 'removed' });
    expect(trashed(root)).toEqual(['old']);
    expect(await removeFile(root, path, digest('old'))).toEqual({ done: 'removed' });
  });

  test('only on an exact match', async () => {
    const root = freshRoot({ [path]: 'mine' });
    expect(await removeFile(root, path, digest('old'))).toEqual({ done: 'kept', reason: 'changed_here' });
    expect(tree(root.real)).toEqual({ [path]: 'mine' });
  });
});

describe('failures of the disk', () => {
  const steps = ['stage', 'content', 'sync', 'aside', 'link', 'unstage', 'retire'];
  for (const code of ['ENOSPC', 'EROFS', 'EACCES', 'EMFILE']) {
    test.each(steps)(`${code} at %s leaves old or new, says so, and the next pass succeeds`, async (step) => {
      const fail = once(step, () => {
        throw systemError(code);
      });
      const root = freshRoot({ [path]: 'old' }, { step: fail });
      const outcome = await update(root);
      expect(outcome).toMatchObject({ done: 'failed', code, message: expect.stringContaining(path) });
      expect(JSON.stringify(outcome)).not.toContain('injected');
      await recover(root);
      expect(['old', 'new']).toContain(readFileSync(join(root.real, path), 'utf8'));
      expect(left(root, 'staging')).toEqual([]);
      expect((await update(root)).done).toBe('written');
      expect(tree(root.real)).toEqual({ [path]: 'new' });
    });
  }

  test('even when putting the old file back fails too', async () => {
    const fail = (step: string) => {
      if (step === 'link' || step === 'put-back') throw systemError('ENOSPC');
    };
    const root = freshRoot({ [path]: 'old' }, { step: fail });
    expect((await update(root)).done).toBe('failed');
    await recover({ ...root, step: () => {} });
    expect(tree(root.real)).toEqual({ [path]: 'old' });
  });

  const lock = (tries: number, code: string) => {
    let count = 0;
    return {
      count: () => count,
      step: (step: string) => {
        if (step === 'aside' && ++count <= tries) throw systemError(code);
      },
    };
  };
  const delays = [0, 0, 0, 0, 0, 0, 0, 0, 0];

  test.each([
    ['win32', 'EPERM'],
    ['win32', 'EACCES'],
    ['win32', 'EBUSY'],
    ['linux', 'EBUSY'],
  ] as const)('on %s, %s is a lock: ten tries', async (platform, code) => {
    const short = lock(9, code);
    expect((await update(freshRoot({ [path]: 'old' }, { platform, delays, step: short.step }))).done).toBe(
      'written',
    );
    const long = lock(99, code);
    const root = freshRoot({ [path]: 'old' }, { platform, delays, step: long.step });
    expect(await update(root)).toMatchObject({ done: 'failed', code });
    expect(long.count()).toBe(10);
    expect(tree(root.real)).toEqual({ [path]: 'old' });
  });

  test('on Linux, EPERM is not waited for', async () => {
    const denied = lock(99, 'EPERM');
    await update(freshRoot({ [path]: 'old' }, { platform: 'linux', step: denied.step }));
    expect(denied.count()).toBe(1);
  });
});
