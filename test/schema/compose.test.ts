import { describe, expect, test } from 'vitest';
import { composeItem, replaceDescription, replaceInstructions, replaceName } from '../../schema/compose.ts';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText, readFrontMatter } from '../../schema/frontmatter.ts';
import { corpusItems, hasCorpus } from './corpus.ts';

const TRICKY = [
  'Plain.',
  '',
  ' blanks around ',
  'Use when: "x" # not a comment',
  "- [a] {b} *c &d !e | > % @ `f` \\ / '",
  'two\nlines\r\nand\ttab',
  '\u0001\u007f\u0085\u009f\u00a0\u2028\u2029\ufeff\u200b\u202e',
  'é 日本 😀 \u{e0041}',
  'x'.repeat(3000),
  'word '.repeat(400),
  '---',
  'true',
  '$& $1 $$',
];

const value = (text: string, key: string) => readFrontMatter(text).entries.get(key)?.text;

function refused(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof RegistryError) return error.code;
    throw error;
  }
  throw new Error('was not refused');
}

describe('composeItem', () => {
  test('is one form: LF, double quotes, a blank line, a final line break', () => {
    const item = {
      kind: 'skill' as const,
      name: 'a-b',
      description: 'Say "hi": now',
      instructions: '\n\nOne\r\nTwo\n\n',
    };
    expect(composeItem(item)).toBe('---\nname: a-b\ndescription: "Say \\"hi\\": now"\n---\n\nOne\nTwo\n');
    expect(composeItem({ ...item, instructions: '' })).toBe(
      '---\nname: a-b\ndescription: "Say \\"hi\\": now"\n---\n',
    );
  });

  test.each(TRICKY)('reads back %j', (description) => {
    const text = composeItem({ kind: 'persona', name: 'x', description, instructions: 'Body' });
    expect(readFrontMatter(text)).toMatchObject({
      reading: 'strict',
      data: { name: 'x', description },
      notes: [],
    });
    expect(text.split('\n').length).toBe(7);
  });

  test.each(['true', 'null', 'no', 'on', '0123', '1e5', '2024-01-01', '0x1f', '7'])(
    'the name %s stays a text',
    (name) => {
      const text = composeItem({ kind: 'skill', name, description: 'd', instructions: 'b' });
      expect(readFrontMatter(text).data).toEqual({ name, description: 'd' });
      expect(text).toContain(`name: "${name}"`);
    },
  );

  test.each(['a\0b', 'half \ud83d'])('refuses %j', (text) => {
    const item = { kind: 'skill' as const, name: 'x', description: 'd', instructions: 'b' };
    expect(refused(() => composeItem({ ...item, description: text }))).toBe('invalid_input');
    expect(refused(() => composeItem({ ...item, instructions: text }))).toBe('invalid_input');
    expect(refused(() => replaceDescription('', text))).toBe('invalid_input');
    expect(refused(() => replaceInstructions('', text))).toBe('invalid_input');
  });
});

describe('replaceDescription changes its span only', () => {
  test.each([
    ['a plain value', 'description: old\nz: 1', 'description: "new"\nz: 1'],
    ['blanks and a comment', 'description:   old  # why\nz: 1', 'description:   "new"  # why\nz: 1'],
    ['quotes', '"description" : \'old\'\nz: 1', '"description" : "new"\nz: 1'],
    ['an empty value', 'description:\nz: 1', 'description: "new"\nz: 1'],
    ['an empty value with a comment', 'description: # why\nz: 1', 'description: "new" # why\nz: 1'],
    ['null', 'description: ~\nz: 1', 'description: "new"\nz: 1'],
    ['a list', 'description:\n  - a\n  - b\nz: 1', 'description: "new"\nz: 1'],
    [
      'a folded block',
      'description: >-\n  old\n\n  text\n\n# why\nz: 1',
      'description: "new"\n\n# why\nz: 1',
    ],
    ['a literal block at the end', 'z: 1\ndescription: |\n  old\n  text', 'z: 1\ndescription: "new"'],
    ['a value on the next line', 'description:\n  old\n  text\nz: 1', 'description: "new"\nz: 1'],
    ['a quoted value over lines', 'description: "old\n  text"\nz: 1', 'description: "new"\nz: 1'],
    ['an anchor', 'description: &d old\nz: 1', 'description: "new"\nz: 1'],
    ['a flow mapping', '{description: old, z: 1}', '{description: "new", z: 1}'],
    ['an unquoted colon', 'description: old: one # why\nz: 1', 'description: "new" # why\nz: 1'],
    ['a lenient value over lines', 'description: old: one\n  two\nz: 1', 'description: "new"\nz: 1'],
    ['no blank after the colon', 'description:old\nz: 1', 'description: "new"\nz: 1'],
    [
      'another broken line',
      'hint: [x] [y]\ndescription: old\nz: 1',
      'hint: [x] [y]\ndescription: "new"\nz: 1',
    ],
    ['a missing key below the name', 'name: x # n\nz: 1', 'name: x # n\ndescription: "new"\nz: 1'],
    ['a missing key below a block name', 'name: >-\n  x\nz: 1', 'name: >-\n  x\ndescription: "new"\nz: 1'],
    ['a missing key without a name', 'z: 1\n# end', 'z: 1\n# end\ndescription: "new"'],
    [
      'a missing key in indented front matter',
      '  name: x\n  z: 1',
      '  name: x\n  description: "new"\n  z: 1',
    ],
    ['no key at all', 'Just text', 'Just text\ndescription: "new"'],
  ])('%s', (_, before, after) => {
    for (const eol of ['\n', '\r\n', '\r']) {
      for (const [head, tail] of [
        ['---\n', '\n---\n\nBody\n---\ndescription: no\n'],
        ['\uFEFF\n<!-- c -->\n---  \n', '\n--- \t'],
      ]) {
        const file = (yaml: string) => `${head}${yaml}${tail}`.replaceAll('\n', eol);
        const edited = replaceDescription(file(before), 'new');
        expect(edited).toBe(file(after));
        expect(value(edited, 'description')).toBe('new');
      }
    }
  });

  test('front matter is added in front where there is none', () => {
    expect(replaceDescription('# Title\r\n', 'new')).toBe(
      '---\r\ndescription: "new"\r\n---\r\n\r\n# Title\r\n',
    );
    expect(replaceDescription('\uFEFF\n# Title', 'new')).toBe(
      '\uFEFF---\ndescription: "new"\n---\n\n# Title',
    );
    expect(replaceDescription('', 'new')).toBe('---\ndescription: "new"\n---\n');
    expect(replaceDescription('---\nname: x\n', 'new')).toBe(
      '---\ndescription: "new"\n---\n\n---\nname: x\n',
    );
    expect(replaceDescription('---\n---\nBody', 'new')).toBe('---\ndescription: "new"\n---\nBody');
  });

  test.each(TRICKY)('reads back %j', (description) => {
    const text = '---\r\nname: x\r\ndescription: >\r\n  old\r\n\r\nz: 1\r\n---\r\nBody';
    const edited = replaceDescription(text, description);
    expect(value(edited, 'description')).toBe(description);
    expect(replaceDescription(edited, 'old')).toBe(text.replace('>\r\n  old', '"old"'));
  });

  test('refused where the YAML takes no such edit', () => {
    expect(refused(() => replaceDescription('---\n{name: x}\n---\n', 'new'))).toBe('invalid_front_matter');
  });

  test('refused where the front matter would be too large', () => {
    expect(refused(() => replaceDescription('---\nname: x\n---\n', 'x'.repeat(16_400)))).toBe('too_large');
  });
});

test('replaceName', () => {
  expect(replaceName('---\r\ndescription: d\r\nname: "old" # n\r\n---\r\nB', 'new')).toBe(
    '---\r\ndescription: d\r\nname: new # n\r\n---\r\nB',
  );
  expect(replaceName('---\ndescription: a: b\n---\nB', 'new')).toBe(
    '---\nname: new\ndescription: a: b\n---\nB',
  );
  expect(replaceName('---\nname: [a, b]\n---\n', '007')).toBe('---\nname: "007"\n---\n');
  expect(replaceName('---\n# c\nz: 1\n---\n', 'new')).toBe('---\n# c\nname: new\nz: 1\n---\n');
  expect(replaceName('---\nstray\n---\n', 'new')).toBe('---\nstray\nname: new\n---\n');
  expect(replaceName('B', 'new')).toBe('---\nname: new\n---\n\nB');
});

describe('replaceInstructions changes the body only', () => {
  const head = '\uFEFF---\nname: x\n# c\ndescription: Use: when\n---\n';
  test.each([
    ['\n\nOld\n\ntext\n\n', '\n\nNew\n\n- one\n\n'],
    ['Old', 'New\n\n- one'],
    ['', '\nNew\n\n- one\n'],
    ['\n\n', '\n\nNew\n\n- one\n'],
  ])('%j', (before, after) => {
    for (const eol of ['\n', '\r\n', '\r']) {
      const file = (body: string) => (head + body).replaceAll('\n', eol);
      for (const given of ['New\n\n- one', '\n \nNew\r\n\r\n- one\r\n']) {
        expect(replaceInstructions(file(before), given)).toBe(file(after));
      }
    }
  });

  test('a closing fence that ends the file, no front matter, an empty body', () => {
    expect(replaceInstructions('---\nname: x\n---', 'New')).toBe('---\nname: x\n---\n\nNew\n');
    expect(replaceInstructions('\uFEFFOld\n', 'New')).toBe('\uFEFFNew\n');
    expect(replaceInstructions('', 'New')).toBe('New\n');
    expect(replaceInstructions('---\nname: x\n---\n\nOld\n', '')).toBe('---\nname: x\n---\n\n\n');
  });

  test('an indented first line and rules stay as given', () => {
    expect(replaceInstructions('---\nname: x\n---\nOld\n', '    code\n---\na: b\n---')).toBe(
      '---\nname: x\n---\n    code\n---\na: b\n---\n',
    );
  });

  test('text that would become front matter is refused', () => {
    expect(refused(() => replaceInstructions('Old\n', '---\na: b\n---\n'))).toBe('invalid_input');
  });
});

test.skipIf(!hasCorpus)('over the whole corpus an edit changes its span, every other byte stays', () => {
  for (const { path, bytes } of corpusItems()) {
    const text = decodeText(bytes) as string;
    for (const description of ['Now: "other" # text', 'y'.repeat(1100)]) {
      const edited = replaceDescription(text, description);
      expect(value(edited, 'description'), path).toBe(description);
      const at = edited.indexOf(JSON.stringify(description));
      const tail = edited.slice(at + JSON.stringify(description).length);
      expect(text.startsWith(edited.slice(0, at)) && text.endsWith(tail), path).toBe(true);
      expect(readFrontMatter(edited).data, path).toEqual({ ...readFrontMatter(text).data, description });
    }
    const body = replaceInstructions(text, 'New\nbody');
    const { bodyStart, eol } = readFrontMatter(text);
    expect(body.slice(0, bodyStart), path).toBe(text.slice(0, bodyStart));
    expect(body.slice(bodyStart).trim(), path).toBe(`New${eol}body`);
    expect(replaceInstructions(body, text.slice(bodyStart)), path).toBe(text.replace(/\r\n|\n|\r/g, eol));
    expect(value(replaceName(text, 'other-name'), 'name'), path).toBe('other-name');
  }
});
