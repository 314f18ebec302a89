import { expect, test } from 'vitest';
import { StartError } from '../../../schema/riding/diagnostic.ts';
import { readLayer, skillFileNames } from '../../../schema/riding/directory.ts';
import { evaluate } from '../../../schema/riding/gates.ts';
import { type Layer, resolveLayers } from '../../../schema/riding/layers.ts';
import { shippedLayer } from '../../../schema/riding/shipped.ts';
import { file, names, skill } from './skills.ts';

const layer = (kind: Layer['kind'], label: string, ...fronts: string[]): Layer => ({
  kind,
  label,
  skills: fronts.map((front) => ({ ...skill(front), source: label })),
});

test('1.4 one level of regular files that end in exactly .md, in byte order', () => {
  const entries = [
    { name: 'b.md', file: true },
    { name: 'B.md', file: true },
    { name: 'a.MD', file: true },
    { name: '.md', file: true },
    { name: '.a.md', file: true },
    { name: 'folder.md', file: false },
    { name: 'a.markdown', file: true },
    { name: 'é.md', file: true },
    { name: 'SKILL', file: false },
  ];
  expect(skillFileNames(entries)).toEqual(['.a.md', 'B.md', 'b.md', 'é.md']);
});

test('1.4 a README without front matter is an ordinary dropped file, and harms nobody', () => {
  const { layer: read, diagnostics } = readLayer({
    kind: 'project',
    label: 'p',
    files: [
      { path: 'p/README.md', content: '# About\n' },
      { path: 'p/a.md', content: file('name: a') },
      { path: 'p/gone.md', error: 'EACCES' },
    ],
  });
  expect(names(read.skills)).toEqual(['a']);
  expect(diagnostics).toMatchObject([
    { code: 'dropped', path: 'p/README.md' },
    { code: 'dropped', path: 'p/gone.md' },
  ]);
});

test('bug 2: a file with an unquoted colon leaves its sibling alone and gets one diagnostic with its path', () => {
  const { layer: read, diagnostics } = readLayer({
    kind: 'project',
    label: 'p',
    files: [
      { path: 'p/a.md', content: file('name: a\ndescription: TRIGGER: always') },
      { path: 'p/b.md', content: file('name: b') },
    ],
  });
  expect(names(read.skills)).toEqual(['b']);
  expect(diagnostics).toHaveLength(1);
  expect(diagnostics[0]).toMatchObject({ path: 'p/a.md', message: expect.stringContaining('double quotes') });
});

test('bug 19: of two files with one name the first in file order wins, with one diagnostic that names both', () => {
  const { layer: read, diagnostics } = readLayer({
    kind: 'project',
    label: 'p',
    files: [
      { path: 'p/a.md', content: file('name: x\ndescription: one') },
      { path: 'p/b.md', content: file('name: x\ndescription: two') },
    ],
  });
  expect(read.skills).toMatchObject([{ name: 'x', description: 'one' }]);
  expect(diagnostics).toMatchObject([{ code: 'duplicate-name', path: 'p/b.md', skill: 'x' }]);
  expect(diagnostics[0]?.message).toContain('p/a.md');
});

test('1.3 a dropped file takes no name', () => {
  const files = [
    { path: 'p/a.md', content: file('name: x\nauto_inject_hint: 0') },
    { path: 'p/b.md', content: file('name: x') },
  ];
  expect(readLayer({ kind: 'project', label: 'p', files }).layer.skills).toMatchObject([
    { source: 'p/b.md' },
  ]);
});

test.each([
  ['broken', [{ key: 'a', text: '# a' }]],
  ['named unlike its key', [{ key: 'a', text: file('name: b') }]],
  ['with a gate that cannot be read', [{ key: 'a', text: file('name: a\napplies_when: {x: y}') }]],
  [
    'registered twice',
    [
      { key: 'a', text: file('name: a') },
      { key: 'a', text: file('name: a') },
    ],
  ],
])('1.3 and 2: a shipped skill that is %s is a start-up error', (_, registrations) => {
  expect(() => shippedLayer('bundled', registrations)).toThrow(StartError);
});

test('2 bundled < framework < project < second declared < first declared, whole files', () => {
  const all = [
    layer('bundled', 'bundled', 'name: x\ndescription: 1\nreferences_tools: [t]'),
    layer('framework', 'framework', 'name: x\ndescription: 2'),
    layer('project', 'project', 'name: x\ndescription: 3'),
    layer('declared', 'first', 'name: x\ndescription: 5'),
    layer('declared', 'second', 'name: x\ndescription: 4'),
  ];
  for (let count = 1; count <= all.length; count++) {
    const layers = count === 4 ? [...all.slice(0, 3), ...all.slice(4)] : all.slice(0, count);
    const { skills, winners } = resolveLayers(
      layers.toReversed().sort((a, b) => all.indexOf(a) - all.indexOf(b)),
    );
    expect(skills).toMatchObject([{ description: String(count), referencesTools: count === 1 ? ['t'] : [] }]);
    expect(winners[0]?.masked).toHaveLength(layers.length - 1);
  }
  expect(resolveLayers(all).winners[0]?.masked.map(({ layer: { label } }) => label)).toEqual([
    'second',
    'project',
    'framework',
    'bundled',
  ]);
});

test('2 an inactive higher skill still masks the lower one', () => {
  const { skills } = resolveLayers([
    layer('bundled', 'bundled', 'name: x'),
    layer('project', 'project', 'name: x\napplies_when: {tool_registered: absent}'),
  ]);
  const facts = { tools: new Set(['x']), extensions: {}, graph: null };
  expect(evaluate(skills, facts).active).toEqual([]);
});

test('2 skills of all layers come by name in byte order', () => {
  const { skills } = resolveLayers([
    layer('declared', 'd', 'name: b', 'name: é'),
    layer('bundled', 'b', 'name: a', 'name: Z', 'name: "\\U0001F600"', 'name: "\\uFFFD"'),
  ]);
  expect(names(skills)).toEqual(['Z', 'a', 'b', 'é', '\uFFFD', '\u{1F600}']);
});
