import { skillEntry } from '@modelcontextprotocol/server/ext/skills';
import { describe, expect, test } from 'vitest';
import { CLIENTS } from '../../schema/clients.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { inspectItem } from '../../schema/inspect.ts';
import { Flag, type Kind } from '../../schema/item.ts';
import { corpusItems, hasCorpus } from './corpus.ts';

const inspect = (mainText: string, kind: Kind = 'skill', fallbackName = 'x', fileCount = 1) =>
  inspectItem({ kind, mainText, fallbackName, fileCount });

/** Flags as `code:line clients`, without those named in `but`. */
function flags(item: { flags: Flag[] }, but?: Flag['code']): string[] {
  for (const flag of item.flags) {
    Flag.parse(flag);
    for (const id of flag.clients) expect(CLIENTS.map((client) => client.id)).toContain(id);
  }
  return item.flags
    .filter(({ code }) => code !== but)
    .map(({ code, line, clients }) => [line === undefined ? code : `${code}:${line}`, ...clients].join(' '));
}

const skill = (yaml: string) => `---\n${yaml}\n---\nBody\n`;
const EXT = 'not-in-skills-extension';

test('a skill without front matter is told that it has none, not that its YAML is broken', () => {
  const told = inspect('Body\n').flags.find(({ code }) => code === EXT)?.message;
  expect(told).toBe('The skill is left out of the MCP Skills extension: it has no front matter.');
});

test('an item without a fault has no flag', () => {
  expect(inspect(skill('name: x\ndescription: " d "\nlicense: MIT\nmetadata:\n  a: b'))).toEqual({
    name: 'x',
    description: 'd',
    flags: [],
    frontMatter: { name: 'x', description: ' d ', license: 'MIT', metadata: { a: 'b' } },
  });
});

describe('a skill: who does not read it as meant', () => {
  const all = 'codex copilot-cli opencode gemini-cli qwen-code';
  test.each([
    [
      'a BOM',
      `\uFEFF${skill('name: x\ndescription: d')}`,
      ['byte-order-mark:1 codex gemini-cli claude-code'],
    ],
    ['no front matter', 'Body\n', [`no-front-matter ${all}`, EXT]],
    [
      'a comment first',
      `<!-- c -->\n${skill('name: x\ndescription: d')}`,
      [`comment-before-front-matter:1 ${all}`, EXT],
    ],
    ['no YAML', skill('text'), [`unreadable-front-matter:2 ${all}`, EXT]],
    ['a colon', skill('name: x\ndescription: a: b'), ['unquoted-colon:3 copilot-cli cline-cli cline', EXT]],
    [
      'a bracket',
      skill('name: x\ndescription: d\nargument-hint: [a] [b]'),
      ['unquoted-value:4 copilot-cli cline-cli cline', EXT],
    ],
    ['no name', skill('description: d'), ['name-missing opencode gemini-cli qwen-code', EXT]],
    [
      'an invalid name',
      skill('name: Not X\ndescription: d'),
      ['name-invalid:2 claude-code cline roo crush', EXT],
    ],
    ['another name than the folder', skill('name: y\ndescription: d'), ['name-differs:2']],
    [
      'a reserved name',
      skill('name: claude-x\ndescription: d'),
      ['name-differs:2', 'name-reserved claude-apps'],
    ],
    ['no description', skill('name: x'), [`description-missing ${all}`, EXT]],
    ['an empty one', skill('name: x\ndescription: "  "'), [`description-missing:3 ${all}`]],
    ['a list as one', skill('name: x\ndescription: [a]'), [`description-missing:3 ${all}`, EXT]],
    ['1,024 characters', skill(`name: x\ndescription: ${'d'.repeat(1024)}`), []],
    [
      '1,025 characters',
      skill(`name: x\ndescription: ${'d'.repeat(1025)}`),
      ['description-long:3 copilot-cli', EXT],
    ],
    ['markup', skill('name: x\ndescription: a <b> c'), ['description-markup:3 claude-apps']],
    [
      'a list as hint',
      skill('name: x\ndescription: d\nargument-hint: [a]'),
      ['key-breaks-client:4 copilot-cli'],
    ],
    ['a text as hint', skill('name: x\ndescription: d\nargument-hint: "[a]"'), []],
    [
      'keys of others',
      skill('name: x\ndescription: d\nmodel: m\nagent: a\ncontext: fork'),
      ['key-breaks-client:4 vscode', 'key-breaks-client:6 vscode', 'key-breaks-client:5 vscode'],
    ],
    ['a number as name', '---\nname: 007\ndescription: d\n---\n', ['name-differs:2', EXT]],
    ['metadata of numbers', skill('name: x\ndescription: d\nmetadata: {v: 1.0}'), [EXT]],
    ['a long compatibility', skill(`name: x\ndescription: d\ncompatibility: ${'c'.repeat(501)}`), [EXT]],
    ['CR', skill('name: x\ndescription: d').replaceAll('\n', '\r'), [EXT]],
    ['CRLF', skill('name: x\ndescription: d').replaceAll('\n', '\r\n'), []],
  ])('%s', (_, text, expected) => expect(flags(inspect(text))).toEqual(expected));

  test('more than 200 files', () => {
    const text = skill('name: x\ndescription: d');
    expect(flags(inspect(text, 'skill', 'x', 200))).toEqual([]);
    expect(flags(inspect(text, 'skill', 'x', 201))).toEqual(['many-files claude-apps']);
  });
});

describe('a persona: only Claude Code gets its bytes', () => {
  test.each([
    ['a BOM', `\uFEFF${skill('name: x\ndescription: d')}`, ['byte-order-mark:1 claude-code']],
    ['a colon', skill('name: x\ndescription: a: b'), ['unquoted-colon:3']],
    ['no front matter', 'You are.\n', ['no-front-matter claude-code']],
    ['markup, keys', skill('name: x\ndescription: <d>\nmodel: opus\ntools: [a]'), []],
    ['a list of hooks', skill('name: x\ndescription: d\nhooks: []'), ['key-breaks-client:4 claude-code']],
  ])('%s', (_, text, expected) => expect(flags(inspect(text, 'persona', 'x', 999), EXT)).toEqual(expected));
});

test('without any valid name it is refused', () => {
  expect(() => inspect('Body', 'skill', 'No Name')).toThrow('such as no-name');
});

test.skipIf(!hasCorpus)(
  'over the corpus, what the extension leaves out is what its own reader refuses',
  async () => {
    for (const { kind, path, fallbackName, bytes } of corpusItems()) {
      const item = inspect(decodeText(bytes) as string, kind, fallbackName);
      flags(item);
      expect(item.description, path).not.toBe('');
      const flagged = item.flags.some((flag) => flag.code === EXT);
      const problem = await skillEntry(item.name, { 'SKILL.md': bytes }).then(
        (entry) => {
          if (!flagged) expect(entry.frontmatter, path).toEqual(item.frontMatter);
          return null;
        },
        (error: Error) => error.message,
      );
      expect([path, problem === null ? null : flagged], problem ?? '').toEqual([
        path,
        problem === null ? null : true,
      ]);
      expect([path, flagged], problem ?? 'the reader accepts it').toEqual([path, problem !== null]);
    }
  },
);
