import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readJson, StateError, writeJson } from '../../agent/json-file.ts';
import { openTable } from '../../agent/table.ts';
import { freshFolder } from './registry.ts';

const record = z.object({ n: z.number() });
const open = (path: string, readOnly = false) => openTable({ path, title: 'numbers', record, readOnly });

describe('a table', () => {
  it('keeps the last value of each key', () => {
    const path = join(freshFolder(), 'numbers.jsonl');
    const table = open(path);
    table.write([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ]);
    table.write([
      ['a', { n: 3 }],
      ['b', null],
    ]);
    expect([...open(path).entries()]).toEqual([['a', { n: 3 }]]);
  });

  it.each([
    ['a crash', '["b",{"n"'],
    ['a power cut', '["b",{"n"\0\0\0\n\0\0'],
  ])('drops the torn end of a write that %s cut off, and goes on', (_, torn) => {
    const path = join(freshFolder(), 'numbers.jsonl');
    open(path).write([['a', { n: 1 }]]);
    appendFileSync(path, torn);
    expect(open(path, true).get('b')).toBeUndefined();
    open(path).write([['c', { n: 3 }]]);
    expect([...open(path).entries()]).toEqual([
      ['a', { n: 1 }],
      ['c', { n: 3 }],
    ]);
  });

  it.each(['', '{"table":"num', '\0\0\0\0'])('begins anew where its first write was cut off: %j', (text) => {
    const path = join(freshFolder(), 'numbers.jsonl');
    writeFileSync(path, text);
    expect(open(path, true).size).toBe(0);
    open(path).write([['a', { n: 1 }]]);
    expect(open(path).get('a')).toEqual({ n: 1 });
  });

  it.each([
    ['cut short', (path: string) => truncateSync(path, statSync(path).size - 3)],
    ['deleted', (path: string) => rmSync(path)],
  ])('is whole again with the next write after its file was %s', (_, harm) => {
    const path = join(freshFolder(), 'numbers.jsonl');
    const table = open(path);
    table.write([['a', { n: 1 }]]);
    table.write([['b', { n: 2 }]]);
    harm(path);
    table.write([['c', { n: 3 }]]);
    expect([...open(path).entries()]).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
      ['c', { n: 3 }],
    ]);
  });

  it.each([
    ['a damaged line', '{"table":"numbers","version":1}\nnonsense\n["b",{"n":1}]\n'],
    ['a record of another form', '{"table":"numbers","version":1}\n["b",{"n":"one"}]\n'],
    ['a newer version', '{"table":"numbers","version":2}\n'],
    ['another table', '{"table":"words","version":1}\n'],
    ['what is no table', 'nonsense'],
    ['zeros before more lines', '{"table":"numbers","version":1}\n\0\0["b",{"n":1}]\n'],
  ])('refuses %s with a sentence, and keeps the file', (_, text) => {
    const path = join(freshFolder(), 'numbers.jsonl');
    writeFileSync(path, text);
    expect(() => open(path)).toThrow(StateError);
    expect(() => open(path)).toThrow(/cannot be used: .*repair it, or move it away\.$/);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('costs a change of one record a write of one record, and does not grow for ever', () => {
    const path = join(freshFolder(), 'numbers.jsonl');
    const table = open(path);
    table.write(Array.from({ length: 5000 }, (_, n) => [`key-${n}`, { n }] as const));
    const before = statSync(path).size;
    table.write([['key-1', { n: -1 }]]);
    expect(statSync(path).size - before).toBeLessThan(100);
    for (let n = 0; n < 20_000; n++) table.write([['key-1', { n }]]);
    expect(statSync(path).size).toBeLessThan(3 * before);
    expect(open(path).get('key-1')).toEqual({ n: 19_999 });
    expect(open(path).size).toBe(5000);
  });
});

describe('a small JSON file', () => {
  it('is private, and is refused and kept when it is damaged', () => {
    const path = join(freshFolder(), 'settings.json');
    expect(readJson(path, record)).toBeNull();
    writeJson(path, { n: 1 });
    expect(readJson(path, record)).toEqual({ n: 1 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(path, '{"n":');
    expect(() => readJson(path, record)).toThrow(StateError);
    expect(readFileSync(path, 'utf8')).toBe('{"n":');
  });

  it('is refused with a sentence when it cannot be read', () => {
    const path = join(freshFolder(), 'settings.json');
    mkdirSync(path);
    expect(() => readJson(path, record)).toThrow(/settings\.json cannot be used: it is a folder\./);
    expect(() => open(path)).toThrow(/cannot be used: it is a folder\./);
  });
});
