import { describe, expect, test } from 'vitest';
import { RegistryError } from '../../schema/errors.ts';
import { checkPath, checkPaths, collisionKey } from '../../schema/path.ts';

const HONEST = [
  'SKILL.md',
  'scripts/run me.sh',
  'références/été.md',
  '日本語/説明.md',
  'console.md',
  'a.git/.gitignore',
  '.env.example',
  'com10/lpt.md',
  `${'d/'.repeat(11)}f`,
  `${'é'.repeat(100)}/❤️.md`,
];

const HOSTILE = [
  '',
  '/etc/passwd',
  'a//b',
  'a/',
  '.',
  '..',
  './a',
  '../a',
  'a/../b',
  'a/./b',
  '..\\a',
  'a\\b',
  'C:/a',
  'a:b',
  'SKILL.md:stream',
  'a<b',
  'a>b',
  'a"b',
  'a|b',
  'a?b',
  'a*b',
  'a\0b',
  'a\nb',
  'a\x7fb',
  'a\u0085b',
  'a\u200bb',
  'a\u202eb',
  'a\ufeffb',
  'a\u2028b',
  'a\u3164b',
  'a\u{e0041}b',
  'a\ud800b',
  'e\u0301.md',
  'a./b',
  'a ',
  '...',
  'CON',
  'dir/nul.txt',
  'com1.tar.gz',
  'LPT².md',
  'aux .md',
  'conin$',
  '.git/config',
  'a/.GIT',
  'GIT~1/config',
  'PROGRA~1',
  'x'.repeat(201),
  'é'.repeat(101),
  `${'d/'.repeat(12)}f`,
];

function code(run: () => void): string {
  try {
    run();
  } catch (error) {
    if (error instanceof RegistryError) return error.code;
    throw error;
  }
  return 'accepted';
}

test.each(HONEST)('%j is accepted', (path) => expect(code(() => checkPath(path))).toBe('accepted'));
test.each(HOSTILE)('%j is refused', (path) => expect(code(() => checkPath(path))).toBe('invalid_path'));

test('a refusal names the path, cut, without raw control characters', () => {
  expect(() => checkPath('a\x1b[2Jb')).toThrow('"a\\u001b[2Jb"');
  expect(() => checkPath('x'.repeat(5000))).toThrow(/^.{0,300}$/);
});

describe('collisions', () => {
  test.each([
    ['A.md', 'a.md'],
    ['straße.md', 'STRASSE.md'],
    ['ﬁ.md', 'fi.md'],
    ['ſ.md', 's.md'],
    ['İ.md', 'i̇.md'],
    ['Ａ.md', 'a.md'],
    ['Σ.md', 'ς.md'],
    ['docs/a.md', 'Docs/b.md'],
    ['docs', 'docs/a.md'],
    ['docs/a.md', 'DOCS'],
    ['a.md', 'a.md'],
    ['x/y/z/a', 'x/Y/w/b'],
  ])('%s and %s', (a, b) => {
    expect(code(() => checkPaths([a, b]))).toBe('path_collision');
    expect(code(() => checkPaths([b, 'other.md', a]))).toBe('path_collision');
  });

  test('neighbours in one folder do not collide, hostile paths are refused here too', () => {
    expect(code(() => checkPaths(['SKILL.md', 'docs/a.md', 'docs/b.md', 'docs2', 'doc']))).toBe('accepted');
    expect(code(() => checkPaths(['SKILL.md', '../a']))).toBe('invalid_path');
    expect(collisionKey('Docs/É.md')).toBe(collisionKey('docs/é.md'));
    expect(collisionKey('\u212A.md')).toBe(collisionKey('k.md'));
    expect(collisionKey('a')).not.toBe(collisionKey('á'));
  });
});
