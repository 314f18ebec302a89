import { describe, expect, test } from 'vitest';
import { RegistryError } from '../../schema/errors.ts';
import { isItemName, resolveName, suggestName } from '../../schema/name.ts';

test.each(['a', '7', 'console', 'com10', 'pdf-tools', 'a1-b2-c3', 'x'.repeat(64)])('%s is a name', (name) => {
  expect(isItemName(name)).toBe(true);
});

test.each([
  '',
  '-a',
  'a-',
  'a--b',
  'A',
  'a_b',
  'a b',
  'a.b',
  'é',
  'a/b',
  'a\n',
  'x'.repeat(65),
  '日本',
  'con',
  'lpt1',
])('%j is none', (name) => expect(isItemName(name)).toBe(false));

test.each([
  ['PDF Tools', 'pdf-tools'],
  ['  my_skill.v2  ', 'my-skill-v2'],
  ['--a---b--', 'a-b'],
  ['Café Straße', 'cafe-strasse'],
  ['ﬁle', 'file'],
  ['CON', 'con-item'],
  [`${'a'.repeat(63)} b`, 'a'.repeat(63)],
  [`!${'a'.repeat(80)}`, 'a'.repeat(64)],
  ['日本', null],
  ['', null],
])('%j suggests %j', (text, suggestion) => {
  expect(suggestName(text)).toBe(suggestion);
  if (suggestion !== null) expect(isItemName(suggestion)).toBe(true);
});

describe('resolveName', () => {
  const resolve = (frontMatterName: string | undefined, fallback: string | undefined) => {
    const { name, notes } = resolveName({ kind: 'skill', frontMatterName, fallback });
    return [name, ...notes.map((note) => note.code)];
  };
  test.each([
    ['x', 'x', ['x']],
    ['x', undefined, ['x']],
    ['x', 'y', ['x', 'name-differs']],
    ['x', 'Not valid', ['x', 'name-differs']],
    [undefined, 'y', ['y', 'name-missing']],
    ['Not Valid', 'y', ['y', 'name-invalid']],
  ])('front matter %j, folder %j', (written, fallback, expected) => {
    expect(resolve(written, fallback)).toEqual(expected);
  });

  test.each([
    ['Not Valid', 'Nor_This', /^"Not Valid" is no valid name: .*, such as not-valid\.$/],
    [undefined, 'Nor_This', /^"Nor_This" is no valid name: .*, such as nor-this\.$/],
    ['日本', undefined, /^"日本" is no valid name: [^.]* device name of Windows\.$/],
    [undefined, undefined, /^The skill has no name: /],
    ['x'.repeat(9999), undefined, /^.{0,300}$/],
  ])('neither valid: %j, %j', (written, fallback, message) => {
    expect(() => resolve(written, fallback)).toThrow(RegistryError);
    expect(() => resolve(written, fallback)).toThrow(message);
  });
});
