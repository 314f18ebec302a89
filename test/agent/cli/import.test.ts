import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findSources } from '../../../agent/cli/import/find.ts';
import { readItem } from '../../../agent/cli/import/read.ts';
import type { Kind } from '../../../schema/item.ts';
import { skill } from './harness.ts';

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'import-')));
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Record<string, string | Uint8Array>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

function find(path = '.', kind?: Kind) {
  const { sources, misfits } = findSources(join(folder, path), kind);
  const shown = (full: string) => relative(folder, full) || '.';
  return {
    items: sources.map((source) => `${source.kind} ${shown(source.path)}`),
    misfits: misfits.map((misfit) => `${shown(misfit.path)} ${misfit.reason}`),
  };
}

function read(path: string, options: { kind?: Kind; rename?: boolean } = {}) {
  const [source] = findSources(join(folder, path), options.kind).sources;
  if (!source) throw new Error(`nothing found at ${path}`);
  return readItem(source, { executableBit: true, rename: options.rename ?? false });
}

function contents(path: string, options = {}) {
  return Object.fromEntries(read(path, options).files.map((file) => [file.path, file.bytes.toString()]));
}

describe('what counts as an item', () => {
  test('folders with SKILL.md and PERSONA.md at any depth, .md files with front matter in agents/', () => {
    write({
      'one/SKILL.md': skill('one'),
      'plugins/a/skills/two/SKILL.md': skill('two'),
      'plugins/a/agents/architect.md': skill('architect'),
      'plugins/a/agents/README.md': '# About these\n',
      'plugins/a/agents/notes.txt': 'x',
      'plugins/a/docs/guide.md': skill('guide'),
      'three/PERSONA.md': skill('three'),
    });
    expect(find()).toEqual({
      items: [
        'skill one',
        'persona plugins/a/agents/architect.md',
        'skill plugins/a/skills/two',
        'persona three',
      ],
      misfits: [],
    });
  });

  test('what lies inside an item belongs to it', () => {
    write({
      'creator/SKILL.md': skill('creator'),
      'creator/agents/grader.md': skill('grader'),
      'creator/examples/inner/SKILL.md': skill('inner'),
    });
    expect(find().items).toEqual(['skill creator']);
    expect(Object.keys(contents('creator')).sort()).toEqual([
      'SKILL.md',
      'agents/grader.md',
      'examples/inner/SKILL.md',
    ]);
  });

  test('a folder, a main file and a persona file can be named themselves', () => {
    write({ 'x/SKILL.md': skill('x'), 'agents/p.md': skill('p'), 'q.md': skill('q') });
    expect(find('x').items).toEqual(['skill x']);
    expect(find('x/SKILL.md').items).toEqual(['skill x']);
    expect(find('agents/p.md').items).toEqual(['persona agents/p.md']);
    expect(find('q.md').misfits).toEqual([
      'q.md is neither SKILL.md nor a persona in a folder named agents; if it is one, say --kind persona.',
    ]);
    expect(find('q.md', 'persona').items).toEqual(['persona q.md']);
  });

  test('--kind takes any folder of files for personas, and leaves the other kind out', () => {
    write({ 'people/a.md': skill('a'), 'people/s/SKILL.md': skill('s'), 'agents/b.md': skill('b') });
    expect(find('people', 'persona').items).toEqual(['persona people/a.md']);
    expect(find('.', 'skill').items).toEqual(['skill people/s']);
  });

  test('nothing to add, and both kinds at once, are said', () => {
    write({ 'empty/notes.md': 'x', 'both/SKILL.md': skill('b'), 'both/PERSONA.md': skill('b') });
    expect(find('empty').misfits[0]).toMatch(
      /^empty holds no skill or persona: a skill is a folder with SKILL\.md/,
    );
    expect(find('both').misfits).toEqual([
      'both holds both SKILL.md and PERSONA.md; say which it is with --kind.',
    ]);
    expect(find('both', 'persona').items).toEqual(['persona both']);
  });

  test('.git and node_modules are not searched', () => {
    write({
      '.git/x/SKILL.md': skill('x'),
      'node_modules/y/SKILL.md': skill('y'),
      '.claude/skills/z/SKILL.md': skill('z'),
    });
    expect(find().items).toEqual(['skill .claude/skills/z']);
  });

  test('a linked item is found under its own name, a linked tree is not searched', () => {
    write({
      'else/where/SKILL.md': skill('where'),
      'tree/deep/in/SKILL.md': skill('in'),
      'skills/own/SKILL.md': skill('own'),
    });
    symlinkSync(join(folder, 'else/where'), join(folder, 'skills/linked'));
    symlinkSync(join(folder, 'tree'), join(folder, 'skills/tree'));
    symlinkSync(join(folder, 'skills'), join(folder, 'skills/circle'));
    symlinkSync(join(folder, 'gone'), join(folder, 'skills/gone'));
    expect(find('skills')).toEqual({
      items: ['skill skills/linked', 'skill skills/own'],
      misfits: ['skills/gone is a link that leads nowhere.'],
    });
    expect(contents('skills/linked')).toEqual({ 'SKILL.md': skill('where') });
  });
});

describe('what an item holds', () => {
  test('bytes as they are, the executable bit, hidden files with a word', () => {
    const odd = Buffer.from([0, 255, 13, 10, 0xef, 0xbb, 0xbf]);
    write({
      'x/SKILL.md': `\uFEFF${skill('x')}`.replaceAll('\n', '\r\n'),
      'x/run.sh': '#!/bin/sh\n',
      'x/.env.example': 'A=',
      'x/odd.bin': odd,
    });
    chmodSync(join(folder, 'x/run.sh'), 0o755);
    const item = read('x');
    const file = (path: string) => item.files.find((each) => each.path === path);
    expect(file('odd.bin')?.bytes).toEqual(odd);
    expect(file('SKILL.md')?.bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    expect(file('run.sh')?.executable).toBe(true);
    expect(file('SKILL.md')?.executable).toBe(false);
    expect(item.notes).toEqual(['carries 1 hidden file (.env.example); see that they hold no secrets.']);
  });

  test('a persona file becomes PERSONA.md and keeps its bytes', () => {
    write({ 'agents/architect.md': skill('architect') });
    const item = read('agents/architect.md');
    expect([item.kind, item.name, item.files.map(({ path }) => path)]).toEqual([
      'persona',
      'architect',
      ['PERSONA.md'],
    ]);
    expect(contents('agents/architect.md')).toEqual({ 'PERSONA.md': skill('architect') });
  });

  test('links are resolved inside the folder that was named, and refused when they lead out', () => {
    write({ 'set/shared/note.md': 'shared', 'set/x/SKILL.md': skill('x'), 'secret.txt': 'secret' });
    symlinkSync('../shared', join(folder, 'set/x/references'));
    symlinkSync('SKILL.md', join(folder, 'set/x/COPY.md'));
    const { sources } = findSources(join(folder, 'set'));
    const [source] = sources.filter(({ path }) => path.endsWith('/x'));
    if (!source) throw new Error('not found');
    const item = readItem(source, { executableBit: true });
    expect(item.files.map(({ path }) => path).sort()).toEqual(['COPY.md', 'SKILL.md', 'references/note.md']);
    expect(() => read('set/x')).toThrow(
      'references is a link that leads out of x; put the file itself there.',
    );
    rmSync(join(folder, 'set/x/references'));
    symlinkSync('../../secret.txt', join(folder, 'set/x/key.txt'));
    expect(() => read('set/x')).toThrow('key.txt is a link that leads out of x');
  });

  test.skipIf(process.platform !== 'linux')('a name that is no UTF-8 is named as such', () => {
    write({ 'x/SKILL.md': skill('x') });
    writeFileSync(Buffer.concat([Buffer.from(join(folder, 'x/')), Buffer.from([0xff])]), '');
    expect(() => read('x')).toThrow('is no UTF-8 text; rename the file.');
  });

  test('circles and dangling links are refused', () => {
    write({ 'x/SKILL.md': skill('x'), 'x/sub/a.md': 'a' });
    symlinkSync('..', join(folder, 'x/sub/up'));
    expect(() => read('x')).toThrow('sub/up is a link that leads in a circle.');
    rmSync(join(folder, 'x/sub/up'));
    symlinkSync('nowhere', join(folder, 'x/gone'));
    expect(() => read('x')).toThrow('gone is a link that leads nowhere.');
  });

  test('links that git wrote as text are refused wherever they stand', () => {
    write({
      'x/SKILL.md': skill('x'),
      'x/references': '../shared',
      'y/SKILL.md': '../x/SKILL.md',
      'agents/p.md': '../other/p.md',
      'z/SKILL.md': skill('z'),
      'z/version.txt': '../not\na link',
      'skills/linked': '../x',
    });
    expect(() => read('x')).toThrow('references is a link to ../shared that git wrote as a text file');
    expect(() => read('y')).toThrow('SKILL.md is a link to ../x/SKILL.md that git wrote as a text file');
    expect(find('agents').misfits[0]).toMatch(
      /^agents\/p\.md is a link to \.\.\/other\/p\.md that git wrote/,
    );
    expect(find('skills').misfits[0]).toMatch(/^skills\/linked is a link to \.\.\/x that git wrote/);
    expect(Object.keys(contents('z'))).toContain('version.txt');
  });

  test('.git is left out with a word; skill.md is kept under the name that clients read', () => {
    write({ 'x/skill.md': skill('x'), 'x/.git/config': '[core]' });
    const item = read('x');
    expect(item.files.map(({ path }) => path)).toEqual(['SKILL.md']);
    expect(item.notes).toEqual([
      'its .git was left out.',
      'its skill.md is kept as SKILL.md, the only name that clients read.',
    ]);
  });

  test('sizes and counts are refused before much is read', () => {
    write({ 'big/SKILL.md': skill('big'), 'big/data.bin': Buffer.alloc(1024 * 1024 + 1) });
    expect(() => read('big')).toThrow(
      'data.bin has 1048577 bytes, and a file may have 1048576 (1 MiB); make it smaller.',
    );
    write({ 'many/SKILL.md': skill('many') });
    for (let i = 0; i < 512; i++) write({ [`many/${i}.txt`]: '' });
    expect(() => read('many')).toThrow('it has more than 512 files; leave some out.');
  });

  test('paths that some computer cannot hold are refused', () => {
    write({ 'x/SKILL.md': skill('x'), 'x/a:b.md': '' });
    expect(() => read('x')).toThrow('which Windows does not allow');
    rmSync(join(folder, 'x/a:b.md'));
    write({ 'x/Read.md': '', 'x/READ.md': '' });
    expect(() => read('x')).toThrow('cannot both exist on every computer');
  });

  test('a name that breaks the rule is refused with a proposal, and taken when the person agrees', () => {
    write({ 'My Skill/SKILL.md': '---\ndescription: d\n---\nbody\n' });
    expect(() => read('My Skill')).toThrow(
      '"My Skill" is no valid name: use 1 to 64 of a-z, 0-9 and single hyphens, and no device name of Windows, such as my-skill.',
    );
    const item = read('My Skill', { rename: true });
    expect([item.name, item.notes]).toEqual(['my-skill', ['its name "My Skill" was taken as my-skill.']]);
  });

  test('hostile front matter is refused with the line', () => {
    write({ 'x/SKILL.md': '---\nname: x\na: &a [1]\nb: *a\n---\n' });
    expect(() => read('x')).toThrow(/Line 4/);
  });
});
