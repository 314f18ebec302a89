import { describe, expect, test } from 'vitest';
import { parseMapping } from '../../schema/yaml.ts';

const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

const KEYS = 50_000;
const GROUP = 20;
const IN_GROUPS = many(
  KEYS / GROUP,
  (group) => `group-${group}:\n${many(GROUP, (i) => `  key-${i}: v\n`).join('')}`,
).join('');

describe(`${KEYS} keys in one mapping`, () => {
  const block = many(KEYS, (i) => `key-${i}: v\n`);
  const flow = many(KEYS, (i) => `key-${i}: v`);

  test.each([
    ['line by line', block.join('')],
    ['in one line', `m: {${flow.join(', ')}}\n`],
  ])('%s cost about what they do in small mappings', (_, source) => {
    const spent = { one: Number.POSITIVE_INFINITY, groups: Number.POSITIVE_INFINITY };
    const least = (which: keyof typeof spent, text: string) => {
      const start = performance.now();
      expect(parseMapping(text, 1)).not.toBeNull();
      spent[which] = Math.min(spent[which], performance.now() - start);
    };
    for (let round = 0; round < 2; round++) {
      least('groups', IN_GROUPS);
      least('one', source);
    }
    expect(spent.one / spent.groups).toBeLessThan(4);
  });

  test.each([
    ['line by line', `${block.join('')}key-7: v\n`, KEYS + 1],
    ['in one line', `m: {${flow.join(', ')}, "key-7": v}\n`, 1],
  ])('%s are refused when the last repeats another', (_, source, line) => {
    expect(() => parseMapping(source, 1)).toThrow(
      `Line ${line} of the front matter repeats a key; keep one of them.`,
    );
  });
});

test.each([
  ['quoted and plain', 'a: 1\n"a": 2\n', 2],
  ['numbers, which are keys by their text', '1: a\n"1": b\n', 2],
  ['empty keys', ': a\n: b\n', 2],
  ['in a mapping of a list', 'l:\n  - a: 1\n    b: 2\n    a: 3\n', 4],
  ['before a broken value', 'a: 1\na: 2\nb: [x] y\n', 2],
])('a repeated key is refused: %s', (_, source, line) => {
  expect(() => parseMapping(source, 1)).toThrow(`Line ${line} of the front matter repeats a key`);
});

test('what differs is no repeated key, nor is what stands behind an error', () => {
  expect(parseMapping('1: a\n1.0: b\na: {a: {a: 1}}\n', 1)?.data).toEqual({
    1: 'a',
    '1.0': 'b',
    a: { a: { a: 1 } },
  });
  expect(parseMapping('b: [x] y\na: 1\na: 2\n', 1)).toBeNull();
});
