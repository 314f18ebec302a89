import { describe, expect, test } from 'vitest';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText, readFrontMatter } from '../../schema/frontmatter.ts';
import { corpusItems, hasCorpus } from './corpus.ts';

function read(text: string) {
  const front = readFrontMatter(text);
  return {
    reading: front.reading,
    name: front.entries.get('name')?.text,
    description: front.entries.get('description')?.text,
    notes: front.notes.map((note) => `${note.code}${note.line === undefined ? '' : `:${note.line}`}`),
    body: text.slice(front.bodyStart),
  };
}

function refusal(text: string): { code: string; line: number | undefined } {
  try {
    readFrontMatter(text);
  } catch (error) {
    if (error instanceof RegistryError) return { code: error.code, line: error.details.line };
    throw error;
  }
  throw new Error('was not refused');
}

const plain = { reading: 'strict', name: 'x', description: 'Does y.', notes: [], body: 'Body\n' };

describe('accepted and read strictly', () => {
  test.each([
    ['LF', '---\nname: x\ndescription: Does y.\n---\nBody\n'],
    ['blank lines before the fence', '\n  \n\n---\nname: x\ndescription: Does y.\n---\nBody\n'],
    ['blanks after the fences', '---  \nname: x\ndescription: Does y.\n--- \t\nBody\n'],
    ['quotes and comments', '---\n# c\n"name": x # c\n\'description\': "Does y." # c\n---\nBody\n'],
    ['a folded block scalar', '---\nname: x\ndescription: >-\n  Does\n  y.\n---\nBody\n'],
    ['a value on lines of its own', '---\nname: x\ndescription:\n  Does\n  y.\n---\nBody\n'],
    ['a flow mapping', '---\n{name: x, description: Does y.}\n---\nBody\n'],
    ['an anchor that nothing repeats', '---\nname: &n x\ndescription: Does y.\n---\nBody\n'],
    ['mixed line ends', '---\r\nname: x\ndescription: Does y.\r\n---\nBody\n'],
  ])('%s', (_, text) => expect(read(text)).toEqual(plain));

  test.each(['\r\n', '\r'])('line ends %j', (eol) => {
    const text = `---${eol}name: x${eol}description: |-${eol}  Does${eol}  y.${eol}---${eol}Body${eol}`;
    expect(read(text)).toEqual({ ...plain, description: 'Does\ny.', body: `Body${eol}` });
    expect(readFrontMatter(text).eol).toBe(eol);
  });

  test('only the first fence pair counts, rules in the body stay body', () => {
    const body = 'One\n\n---\n\nname: z\n---\n';
    expect(read(`---\nname: x\ndescription: Does y.\n---\n${body}`)).toEqual({ ...plain, body });
  });

  test('a closing fence that ends the file', () => {
    expect(read('---\nname: x\ndescription: Does y.\n---')).toEqual({ ...plain, body: '' });
  });

  test('an indented rule in a block scalar closes nothing', () => {
    expect(read('---\nname: x\ndescription: |\n  a\n  ---\n  b\n---\nBody\n').description).toBe(
      'a\n---\nb\n',
    );
  });

  test('empty front matter', () => {
    expect(readFrontMatter('---\n---\nBody\n')).toMatchObject({ reading: 'strict', data: {}, bodyStart: 8 });
  });

  test('a description far beyond 2,000 characters', () => {
    const long = 'word '.repeat(1200).trim();
    expect(read(`---\nname: x\ndescription: ${long}\n---\nBody\n`).description).toBe(long);
  });

  test('YAML 1.2 core types in the data, source text in the entries', () => {
    const front = readFrontMatter(
      '---\nname: 010\nb: no\nc: true\nd: 2024-01-01\ne: [1, {f: null}]\ng:\n---\n',
    );
    expect(front.data).toEqual({ name: 10, b: 'no', c: true, d: '2024-01-01', e: [1, { f: null }], g: null });
    expect([...front.entries].map(([key, { line, text }]) => [key, line, text])).toEqual([
      ['name', 2, '010'],
      ['b', 3, 'no'],
      ['c', 4, 'true'],
      ['d', 5, '2024-01-01'],
      ['e', 6, undefined],
      ['g', 7, undefined],
    ]);
  });

  test('offsets of keys and values, past a BOM and blank lines', () => {
    const text = '\uFEFF\r\n---\r\nname:  x # c\r\ndescription: >\r\n  a\r\n  b\r\n\r\nz: 1\r\n---\r\n';
    const spans = [...readFrontMatter(text).entries.values()].map((entry) => [
      text.slice(entry.keyStart, entry.keyEnd),
      text.slice(entry.keyEnd, entry.valueEnd),
    ]);
    expect(spans).toEqual([
      ['name', ':  x'],
      ['description', ': >\r\n  a\r\n  b'],
      ['z', ': 1'],
    ]);
  });
});

describe('forgiven and noted', () => {
  test.each([
    ['a BOM', '\uFEFF---\nname: x\ndescription: Does y.\n---\nBody\n', 'strict', ['byte-order-mark:1']],
    [
      'a comment before the fence',
      '\n<!-- one\ntwo -->\n<!-- three -->\n\n---\nname: x\ndescription: Does y.\n---\nBody\n',
      'strict',
      ['comment-before-front-matter:2'],
    ],
  ])('%s', (_, text, reading, notes) => expect(read(text)).toEqual({ ...plain, reading, notes }));

  test.each([
    ['description: Use when: asked', 'Use when: asked', 'unquoted-colon:3'],
    ['description: Use when: asked: twice # c', 'Use when: asked: twice', 'unquoted-colon:3'],
    ['description: Ends in a colon:', 'Ends in a colon:', 'unquoted-colon:3'],
    ['description: First\n  then: second\n\n  third', 'First then: second\nthird', 'unquoted-colon:3'],
    ['description: First\nsecond line at the margin', 'First second line at the margin', 'unquoted-value:3'],
    ['description: [a] then [b]', '[a] then [b]', 'unquoted-value:3'],
    ['description: [x', '[x', 'unquoted-value:3'],
    ['description: *Bold* words', '*Bold* words', 'unquoted-value:3'],
    ['description: `code` first', '`code` first', 'unquoted-value:3'],
    ['description: @me', '@me', 'unquoted-value:3'],
    ['description: "Quoted" and more', '"Quoted" and more', 'unquoted-value:3'],
    ["description: 'It isn't closed well'", "It isn't closed well", 'unquoted-value:3'],
    ['description: "C:\\path"', 'C:\\path', 'unquoted-value:3'],
    ['description: "never closed', '"never closed', 'unquoted-value:3'],
    ['description:no blank', 'no blank', 'unquoted-value:3'],
  ])('%j', (line, description, note) => {
    const front = read(`---\nname: x\n${line}\nlicense: MIT\n---\nBody\n`);
    expect(front).toEqual({ ...plain, reading: 'lenient', description, notes: [note] });
  });

  test('a broken line costs no other key', () => {
    const front = readFrontMatter(
      '---\r\n# note\r\ndescription: Use when: x\r\nallowed-tools:\r\n  - Read\r\nname: x\r\nmetadata: {a: b}\r\nhint: [x] [y]\r\n---\r\n',
    );
    expect(front.data).toEqual({
      description: 'Use when: x',
      'allowed-tools': ['Read'],
      name: 'x',
      metadata: { a: 'b' },
      hint: '[x] [y]',
    });
    expect(front.notes.map(({ code, line }) => [code, line])).toEqual([
      ['unquoted-colon', 3],
      ['unquoted-value', 8],
    ]);
  });

  test.each([
    [
      'a tab as indentation',
      '---\nname: x\ndescription: Does y.\nmetadata:\n\ta: b\n---\nBody\n',
      'unquoted-colon:4',
    ],
    ['indented keys', '---\n  name: x\n  description: Does y.\n  hint: [x\n---\nBody\n', 'unquoted-value:4'],
    ['stray text', '---\nstray\nname: x\ndescription: Does y.\n---\nBody\n', 'unreadable-front-matter:2'],
    [
      'an indented stray line',
      '---\n @\nname: x\ndescription: Does y.\n---\nBody\n',
      'unreadable-front-matter:2',
    ],
    ['a complex key', '---\nname: x\ndescription: Does y.\n? [a]\n: b\n---\nBody\n', 'unquoted-colon:3'],
  ])('%s keeps the name', (_, text, note) => {
    expect(read(text)).toMatchObject({ reading: 'lenient', name: 'x', notes: [note] });
  });

  test.each([
    ['no front matter', '# Title\n\nText\n', 'none', ['no-front-matter'], 0],
    ['an empty file', '', 'none', ['no-front-matter'], 0],
    ['a fence that is never closed', '---\nname: x\n', 'none', ['unreadable-front-matter:1'], 0],
    [
      'a sentence between fences',
      '---\nJust text\n---\nBody\n',
      'unreadable',
      ['unreadable-front-matter:2'],
      18,
    ],
    ['a list between fences', '---\n- a\n---\n', 'unreadable', ['unreadable-front-matter:2'], 12],
    ['a comment that is never closed', '<!-- a\n---\nb: c\n---\n', 'none', ['no-front-matter'], 0],
    ['an indented fence', ' ---\nname: x\n---\n', 'none', ['no-front-matter'], 0],
  ])('%s', (_, text, reading, notes, bodyStart) => {
    expect(read(text)).toMatchObject({ reading, notes, name: undefined });
    expect(readFrontMatter(text)).toMatchObject({ data: null, bodyStart });
  });
});

describe('refused', () => {
  const bomb = [
    'a: &a [x,x]',
    ...'bcdefghi'.split('').map((c, i) => `${c}: &${c} [*${'abcdefgh'[i]},*${'abcdefgh'[i]}]`),
  ];
  test.each([
    ['an alias bomb', `name: x\n${bomb.join('\n')}`, 4],
    ['one alias', 'name: &n x\nb: *n', 3],
    ['a circular anchor', 'name: x\nb: &b [*b]', 3],
    ['a tag', 'name: x\nb: !!js/function "return 1"', 3],
    ['a binary tag', 'name: x\nb: !!binary aGk=', 3],
    ['a duplicate key', 'name: x\ndescription: y\nname: z', 4],
    ['a duplicate key below', 'name: x\nm:\n  a: 1\n  a: 2', 5],
    ['a duplicate key beside a broken value', 'name: x\ndescription: Use: y: z\nname: z', 4],
    ['__proto__', 'name: x\n__proto__: {a: 1}', 3],
    ['__proto__ in quotes, below', 'name: x\nm: {"__proto__": {a: 1}}', 3],
    ['__proto__ by escapes', 'name: x\n"\\x5f_proto__": 1', 3],
    ['__proto__ beside a broken value', 'name: x\n__proto__: a: b: c', 3],
    ['65 open brackets', `name: x\nb: ${'['.repeat(65)}`, 3],
    ['65 brackets closed only in quotes', `name: x\nb: ${'["]",'.repeat(65)}`, 3],
    ['21 levels', `name: x\n${Array.from({ length: 21 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')}`, 23],
    [
      '21 levels beside block scalars',
      Array.from(
        { length: 21 },
        (_, i) => `${' '.repeat(i)}t: |\n${' '.repeat(i)} x\n${' '.repeat(i)}a:`,
      ).join('\n'),
      62,
    ],
    ['21 lists in one line', `name: x\nb:\n${'- '.repeat(21)}x`, 4],
  ])('%s', (_, yaml, line) => {
    expect(refusal(`---\n${yaml}\n---\nBody\n`)).toEqual({ code: 'invalid_front_matter', line });
  });

  test('front matter over 16 KiB, counted in bytes', () => {
    const fits = `---\nname: x\nd: ${'é'.repeat(8186)}\n---\n`;
    expect(readFrontMatter(fits).reading).toBe('strict');
    expect(refusal(fits.replace('é', 'éé')).code).toBe('too_large');
  });

  test.each([
    ['64 open brackets', `b: ${'['.repeat(64)}${']'.repeat(64)}`],
    ['20 levels', Array.from({ length: 20 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    [
      'brackets and indents in a block scalar',
      `b: |\n${Array.from({ length: 90 }, (_, i) => `${' '.repeat(i + 2)}[*a !b`).join('\n')}`,
    ],
  ])('%s are not', (_, yaml) => expect(readFrontMatter(`---\n${yaml}\n---\n`).reading).toBe('strict'));

  test('keys chained in one flow mapping never reach the parser, whose stack they overflow', () => {
    const text = `---\nname: x\nm: {${'a: '.repeat(5000)}\n---\n`;
    expect(readFrontMatter(text)).toMatchObject({ reading: 'lenient', data: { name: 'x' } });
  });

  test('complex keys never reach the parser, which 500 of them keep busy for minutes', () => {
    expect(readFrontMatter(`---\nname: x\n${'? '.repeat(500)}\n---\n`).entries.get('name')?.text).toContain(
      'x',
    );
  });
});

test('decodeText keeps a BOM and gives null for what is no text', () => {
  const encode = (text: string) => new TextEncoder().encode(text);
  expect(decodeText(encode('\uFEFFaé😀\r\n'))).toBe('\uFEFFaé😀\r\n');
  expect(decodeText(encode('a\0b'))).toBeNull();
  expect(decodeText(Uint8Array.of(0x61, 0xff))).toBeNull();
  expect(decodeText(Uint8Array.of(0xed, 0xa0, 0x80))).toBeNull();
});

test.skipIf(!hasCorpus)('every item of the public corpus has its name and description', () => {
  const items = corpusItems();
  expect(items.length).toBe(437);
  for (const { path, bytes } of items) {
    const text = decodeText(bytes);
    expect(text, path).not.toBeNull();
    const front = readFrontMatter(text as string);
    for (const key of ['name', 'description']) {
      const written = new RegExp(`^${key}: *(\\S.{0,9})`, 'm').exec(text as string)?.[1] as string;
      const value = front.entries.get(key)?.text ?? '';
      expect(value.length, `${path} ${key}`).toBeGreaterThan(0);
      if (/^\w/.test(written)) expect(value.startsWith(written.trimEnd()), `${path} ${key}`).toBe(true);
    }
  }
});
