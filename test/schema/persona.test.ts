import { parse as parseToml } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { type Persona, type PersonaFormat, personaFile, restrictions } from '../../schema/persona.ts';

const MARKDOWN = ['cursor', 'opencode', 'gemini-cli', 'copilot-cli'] as const;
const GENERATED = [...MARKDOWN, 'codex'] as const;

function persona(changes: Partial<Persona> = {}): Persona {
  return {
    name: 'reviewer',
    description: 'Reviews: "carefully", with \\ and <b>.',
    body: '\r\nYou review.\r\n\r\n---\r\nStay """calm""".\r\n',
    data: { name: 'reviewer', model: 'opus', color: 'red' },
    raw: new TextEncoder().encode('\uFEFF---\r\nname: reviewer\r\n---\r\nraw'),
    ...changes,
  };
}

function text(format: PersonaFormat, changes: Partial<Persona> = {}): string {
  const file = personaFile(format, persona(changes));
  if (file.needsAgreement) throw new Error(file.reason);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(file.bytes);
}

/** What a client reads out of the generated file. */
function read(format: (typeof GENERATED)[number], changes: Partial<Persona> = {}) {
  const file = text(format, changes);
  if (format === 'codex') {
    const { developer_instructions: body, ...data } = parseToml(file);
    return { data, body };
  }
  const [, header = '', body] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/.exec(file) ?? [];
  return { data: parseYaml(header), body };
}

describe('golden files', () => {
  test('Claude Code gets the bytes as they are', () => {
    const source = persona({ data: { tools: ['Read'] } });
    expect(personaFile('claude-code', source)).toEqual({
      needsAgreement: false,
      fileName: 'reviewer.md',
      bytes: source.raw,
    });
  });

  test.each(['cursor', 'gemini-cli', 'copilot-cli'] as const)('%s', (format) => {
    expect(text(format)).toBe(
      [
        '---',
        'name: "reviewer"',
        'description: "Reviews: \\"carefully\\", with \\\\ and <b>."',
        '---',
        '',
        'You review.',
        '',
        '---',
        'Stay """calm""".',
        '',
      ].join('\n'),
    );
  });

  test('opencode', () => {
    expect(text('opencode')).toBe(
      [
        '---',
        'name: "reviewer"',
        'description: "Reviews: \\"carefully\\", with \\\\ and <b>."',
        'mode: subagent',
        '---',
        '',
        'You review.',
        '',
        '---',
        'Stay """calm""".',
        '',
      ].join('\n'),
    );
  });

  test('Codex', () => {
    expect(text('codex')).toBe(
      [
        'name = "reviewer"',
        'description = "Reviews: \\"carefully\\", with \\\\ and <b>."',
        'developer_instructions = """',
        'You review.',
        '',
        '---',
        'Stay \\"\\"\\"calm\\"\\"\\".',
        '"""',
        '',
      ].join('\n'),
    );
  });

  test.each(GENERATED)('the file name of %s', (format) => {
    const file = personaFile(format, persona());
    expect(file).toMatchObject({ fileName: format === 'codex' ? 'reviewer.toml' : 'reviewer.md' });
  });
});

describe.each(GENERATED)('%s reads back', (format) => {
  test.each([
    ['quotes of every length', 'a " b "" c """ d """" e """"" f """""" "'],
    ['quotes at the end', 'end """"'],
    ['a quote at the end', 'end "'],
    ['backslashes', 'C:\\new\\u0041 \\" \\\\ \\'],
    ['a backslash before a line break', 'one \\\n  two'],
    ['tabs and indentation', '\tcode\n    more\t'.trimEnd()],
    ['a body of fences', '---\nname: other\n---\ntext'],
    ['TOML inside', 'x = """\ny\n"""\n[table]\n# comment'],
    ['control characters', 'bell \u0007 escape \u001b nul \u0000 del \u007f'],
    ['other scripts', 'Größe 日本語 😀 \u2028 line'],
  ])('a body with %s', (_, body) => {
    expect(read(format, { body }).body).toBe(`${body}\n`);
  });

  test.each([
    ['a colon', 'Use when: always'],
    ['quotes', 'say "hi" and \'bye\''],
    ['a comment', 'one # two'],
    ['line breaks', 'first\nsecond\n\nthird'],
    ['YAML indicators', '- [x] {y} & *z !tag %d @e `f`'],
    ['controls and separators', 'a\u0000b\u0085c\u2028d\u007fe\tf\uFEFFg'],
    ['other scripts', 'Größe 日本語 😀'],
  ])('a description with %s, on one line', (_, description) => {
    expect(read(format, { description }).data).toMatchObject({ name: 'reviewer', description });
    expect(
      text(format, { description, body: '' })
        .split('\n')
        .filter((line) => line.startsWith('description')),
    ).toHaveLength(1);
  });

  test.each(['null', 'true', 'no', '123', '1e3', '0x1f', '2024-01-01'])('the name %s as text', (name) => {
    expect(read(format, { name }).data).toMatchObject({ name });
  });

  test('line ends as LF, without byte order mark or blank lines around the body', () => {
    expect(read(format, { body: '\uFEFF\r\n \t\r\none\rtwo\r\n\r\n' }).body).toBe('one\ntwo\n');
  });

  test('the name where there is no description, and an empty body', () => {
    expect(read(format, { description: ' ', body: '' })).toMatchObject({
      data: { description: 'reviewer' },
      body: '\n',
    });
  });

  test('only the keys that the client takes', () => {
    const keys = Object.keys(read(format).data);
    expect(keys).toEqual(format === 'opencode' ? ['name', 'description', 'mode'] : ['name', 'description']);
  });

  test('half a surrogate pair does no harm', () => {
    expect(read(format, { description: 'a\ud800b', body: 'c\udc00' })).toMatchObject({
      data: { description: 'a\ufffdb' },
      body: 'c\ufffd\n',
    });
  });
});

describe('restrictions', () => {
  test.each(GENERATED)('%s asks before a restriction on tools is lost', (format) => {
    const restricted = persona({ data: { name: 'reviewer', tools: 'Read, Grep' } });
    expect(personaFile(format, restricted)).toEqual({
      needsAgreement: true,
      reason: `The persona reviewer restricts tools, which its file for ${format} cannot carry: agree to write it there without the restriction, or leave it out.`,
    });
    expect(personaFile(format, restricted, true)).toMatchObject({ needsAgreement: false });
  });

  test('front matter that cannot be read may hide one', () => {
    expect(personaFile('codex', persona({ data: null }))).toMatchObject({ needsAgreement: true });
    expect(personaFile('claude-code', persona({ data: null }))).toMatchObject({ needsAgreement: false });
  });

  test.each([
    [{ tools: [] }, ['tools']],
    [{ tools: { write: false } }, ['tools']],
    [{ disallowedTools: ['Bash'], permissionMode: 'plan' }, ['disallowedTools', 'permissionMode']],
    [{ readonly: true }, ['readonly']],
    [{ permission: { edit: 'deny' } }, ['permission']],
    [{ tools: '*', disallowedTools: [], permissionMode: 'acceptEdits', readonly: false }, []],
    [{ tools: null, model: 'opus', color: 'red', skills: ['x'] }, []],
  ])('%j', (data, keys) => {
    expect(restrictions(data)).toEqual(keys);
  });
});
