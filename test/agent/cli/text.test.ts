import { describe, expect, test } from 'vitest';
import { ago, byteSize, counted, cut, displayWidth, table, wrap } from '../../../agent/cli/text.ts';

describe('width', () => {
  test('counts wide characters twice and combining ones not', () => {
    expect(displayWidth('abc')).toBe(3);
    expect(displayWidth('三四')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('🎉')).toBe(2);
  });

  test('cuts to the columns, ellipsis included', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdefg', 6)).toBe('abcde…');
    expect(displayWidth(cut('三四五六', 6))).toBeLessThanOrEqual(6);
  });

  test('wraps at blanks and never loses a word', () => {
    const text = 'the quick brown fox jumps over a-word-that-is-longer-than-the-line again';
    const lines = wrap(text, 20, '  ').split('\n');
    expect(lines.join(' ').split(/\s+/).filter(Boolean)).toEqual(text.split(' '));
    for (const line of lines.filter((each) => !each.includes('longer')))
      expect(line.length).toBeLessThanOrEqual(20);
    expect(lines.slice(1).every((line) => line.startsWith('  '))).toBe(true);
  });
});

describe('table', () => {
  const columns = [{ title: 'Name', most: 6 }, { title: 'N', align: 'right' as const }, { title: 'Text' }];

  test('aligns columns and cuts the last one to the width', () => {
    expect(
      table(
        columns,
        [
          ['a', '1', 'short'],
          ['bcdef', '200', 'a text that is too long'],
        ],
        24,
      ),
    ).toEqual(['Name     N  Text', 'a        1  short', 'bcdef  200  a text that…']);
  });

  test('a cell beyond its column pushes its own row only', () => {
    const lines = table(
      columns,
      [
        ['a-long-name', '1', 'text'],
        ['b', '2', 'text'],
      ],
      40,
    );
    expect(lines[1]).toBe('a-long-name  1  text');
    expect(lines[2]).toBe('b       2  text');
  });

  test('a line break in a cell does not break its row', () => {
    expect(table(columns, [['a', '1', 'one\ntwo']], 40)[1]).toBe('a     1  one two');
  });
});

test('words for amounts', () => {
  expect([counted(0, 'item'), counted(1, 'item'), counted(2, 'item')]).toEqual([
    '0 items',
    '1 item',
    '2 items',
  ]);
  expect([byteSize(812), byteSize(2048), byteSize(1.5 * 1024 * 1024)]).toEqual(['812 B', '2 KiB', '1.5 MiB']);
  const now = 1_700_000_000_000;
  const minute = 60_000;
  expect(
    [now + 5000, now - 12_000, now - 5 * minute, now - 180 * minute, now - 72 * 60 * minute].map((at) =>
      ago(at, now),
    ),
  ).toEqual(['just now', '12 s ago', '5 min ago', '3 h ago', '3 days ago']);
});
