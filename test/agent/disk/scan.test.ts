import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listRoot, type ScanCache, scanFile, scanFolder } from '../../../agent/disk/scan.ts';
import { digest, freshRoot, put, tree } from './fixture.ts';

const entry = (path: string, text: string, executable = false) => ({
  path,
  digest: digest(text),
  size: Buffer.byteLength(text),
  executable,
});

test('files by path, with digest, size and executable bit; dot files too', () => {
  const root = freshRoot({
    'alpha/SKILL.md': 'main',
    'alpha/refs/é.md': 'é',
    'alpha/.env.example': 'x',
    'beta/x': '',
  });
  chmodSync(join(root.real, 'alpha/SKILL.md'), 0o755);
  expect(scanFolder(root, 'alpha')).toEqual({
    is: 'folder',
    files: [entry('.env.example', 'x'), entry('SKILL.md', 'main', true), entry('refs/é.md', 'é')],
    odd: [],
  });
  expect(listRoot(root)).toEqual(['alpha', 'beta']);
});

test('what is odd is named, and no link is followed', async () => {
  const root = freshRoot({ 'alpha/SKILL.md': 'main', 'outside/secret': 's', 'alpha/big': '' });
  symlinkSync('../outside', join(root.real, 'alpha/folder'));
  symlinkSync('nowhere', join(root.real, 'alpha/dangling'));
  symlinkSync('.', join(root.real, 'alpha/loop'));
  truncateSync(join(root.real, 'alpha/big'), 1024 * 1024 + 1);
  const server = createServer().listen(join(root.real, 'alpha/socket'));
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  expect(scanFolder(root, 'alpha')).toEqual({
    is: 'folder',
    files: [entry('SKILL.md', 'main')],
    odd: [
      { path: 'big', what: 'too_large' },
      { path: 'dangling', what: 'link' },
      { path: 'folder', what: 'link' },
      { path: 'loop', what: 'link' },
      { path: 'socket', what: 'special' },
    ],
  });
});

test('what is no folder', () => {
  const root = freshRoot({ file: '' });
  symlinkSync('.', join(root.real, 'link'));
  expect(['file', 'link', 'nothing'].map((name) => scanFolder(root, name).is)).toEqual([
    'file',
    'link',
    'absent',
  ]);
});

test('a folder of thousands of files is not read to its end', () => {
  const root = freshRoot({ 'alpha/SKILL.md': '' });
  mkdirSync(join(root.real, 'alpha/many'));
  for (let n = 0; n < 2100; n++) writeFileSync(join(root.real, 'alpha/many', `${n}`), '');
  const scan = scanFolder(root, 'alpha');
  expect(scan).toMatchObject({ is: 'folder', odd: [{ path: '', what: 'too_many' }] });
});

test('a single file', () => {
  const root = freshRoot({ 'x.md': 'x', 'folder/y': '' });
  expect(scanFile(root, 'x.md')).toEqual(entry('x.md', 'x'));
  expect(scanFile(root, 'z.md')).toBeNull();
  expect(scanFile(root, 'folder')).toEqual({ path: 'folder', what: 'folder' });
});

test('reading makes nothing', () => {
  const root = freshRoot({ 'alpha/SKILL.md': '' });
  const before = tree(root.home);
  scanFolder(root, 'alpha');
  expect(tree(root.home)).toEqual(before);
});

describe('the cache', () => {
  const SOON = 60_000;
  const poison = (cache: ScanCache) => {
    for (const value of cache.values()) value.digest = digest('poison');
  };
  const first = (root: ReturnType<typeof freshRoot>, options: Parameters<typeof scanFolder>[2]) => {
    const scan = scanFolder(root, 'alpha', options);
    return scan.is === 'folder' ? scan.files[0]?.digest : null;
  };

  test('spares reading what has not changed; a full scan reads all', () => {
    const root = freshRoot({ 'alpha/SKILL.md': 'main' }, { now: () => Date.now() + SOON });
    const cache: ScanCache = new Map();
    expect(first(root, { cache })).toBe(digest('main'));
    poison(cache);
    expect(first(root, { cache })).toBe(digest('poison'));
    expect(first(root, { cache, full: true })).toBe(digest('main'));
    expect(first(root, { cache })).toBe(digest('main'));
  });

  test('sees a change of equal size', () => {
    const root = freshRoot({ 'alpha/SKILL.md': 'main' }, { now: () => Date.now() + SOON });
    const cache: ScanCache = new Map();
    first(root, { cache });
    poison(cache);
    const stamp = [...cache.values()][0]?.stamp;
    while ([...cache.values()][0]?.stamp === stamp) {
      put(root.real, { 'alpha/SKILL.md': 'edit' });
      first(root, { cache });
    }
    expect(first(root, { cache })).toBe(digest('edit'));
  });

  test('does not trust a file that changed a moment ago', () => {
    const root = freshRoot({ 'alpha/SKILL.md': 'main' }, { now: () => 0 });
    const cache: ScanCache = new Map();
    expect(first(root, { cache })).toBe(digest('main'));
    expect(cache.size).toBe(0);
  });
});
