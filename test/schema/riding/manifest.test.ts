import { describe, expect, test } from 'vitest';
import { StartError } from '../../../schema/riding/diagnostic.ts';
import { type Host, parseManifest } from '../../../schema/riding/manifest.ts';
import { projectDirectory, resolveSkillsPath } from '../../../schema/riding/paths.ts';

/** A variable as it stands in a manifest. */
const VARIABLE = ['$', '{T}'].join('');
const parse = (text: string, host: Host = 'device') => parseManifest(text, { source: '/m/my.yaml', host });
const choice = (text: string) => {
  const { skills } = parse(text);
  return skills && { defaults: skills.defaults, declared: skills.declared.map(({ raw }) => raw) };
};
function expectRefused(text: string, why: RegExp, host: Host = 'device'): void {
  expect(() => parse(text, host)).toThrow(StartError);
  expect(() => parse(text, host)).toThrow(/^(?:Line \d+ of )?\/m\/my\.yaml[: ]/);
  expect(() => parse(text, host)).toThrow(why);
}

describe('2.1 the skills value', () => {
  test.each(['name: a', 'skills:', 'skills: null', 'skills: false', ''])('2.1 off: %j', (text) => {
    expect(parse(text).skills).toBeNull();
  });
  test.each([
    ['true', true, []],
    ['"./p"', true, ['./p']],
    ['[true, "./a", "./b"]', true, ['./a', './b']],
    ['["./a", true, true, "./b"]', true, ['./a', './b']],
    ['["./a"]', false, ['./a']],
    ['[]', false, []],
    ['yes', true, ['yes']],
  ])('2.1 skills: %s', (value, defaults, declared) => {
    expect(choice(`skills: ${value}`)).toEqual({ defaults, declared });
  });
  test.each([
    ['""', /`skills`/],
    ['[true, ""]', /`skills\[1\]`/],
    ['[false]', /`skills\[0\]`/],
    ['[true, null]', /`skills\[1\]`/],
    ['7', /`skills` must be true, false, a path, or a list of true and paths/],
    ['[7]', /`skills\[0\]` must be true or a path/],
    ['{a: b}', /`skills`/],
    ['[["./a"]]', /`skills\[0\]`/],
  ])('2.1 skills: %s is a start-up error', (value, why) => expectRefused(`skills: ${value}`, why));
  test.each(['./p', '[true, "./p"]', 'yes'])(
    '2.1 in the cloud a path is refused with a hint: %s',
    (value) => {
      expectRefused(`skills: ${value}`, /nothing in the cloud.*`skills: true`/, 'cloud');
    },
  );
  test('2.1 in the cloud true, false and [] are what they are elsewhere', () => {
    expectRefused('skills: 7', /`skills` must be true, false, \[true\] or \[\]\.$/, 'cloud');
    expect(parse('skills: true', 'cloud').skills).toEqual({ defaults: true, declared: [] });
    expect(parse('skills: []', 'cloud').skills).toEqual({ defaults: false, declared: [] });
    expect(parse('skills: false', 'cloud').skills).toBeNull();
  });
});

describe('2.2 paths', () => {
  const place = { directory: '/m/dir', home: '/home/u' };
  test.each([
    ['/abs/x', '/abs/x'],
    ['~/x', '/home/u/x'],
    ['./a', '/m/dir/a'],
    ['a/b', '/m/dir/a/b'],
    ['../a', '/m/a'],
    ['../../../../a', '/a'],
    ['~', '/m/dir/~'],
    ['~user/x', '/m/dir/~user/x'],
    ['$HOME/x', '/m/dir/$HOME/x'],
    ['C:\\x', '/m/dir/C:\\x'],
    ['.', '/m/dir'],
  ])('2.2 %s', (raw, path) => expect(resolveSkillsPath(raw, place)).toBe(path));
  test('2.2 without a home ~/ is relative to the manifest', () => {
    expect(resolveSkillsPath('~/x', { directory: '/m', home: undefined })).toBe('/m/~/x');
    expect(resolveSkillsPath('~/x', { directory: '/m', home: '' })).toBe('/m/~/x');
  });
  test.each([
    ['a/b', 'C:\\m\\a\\b'],
    ['..\\a', 'C:\\a'],
    ['D:\\x', 'D:\\x'],
    ['~/x', 'C:\\Users\\u\\x'],
    ['\\\\server\\share\\x', '\\\\server\\share\\x'],
  ])('2.2 on Windows %s', (raw, path) => {
    expect(resolveSkillsPath(raw, { directory: 'C:\\m', home: 'C:\\Users\\u' })).toBe(path);
  });
  test.each([
    ['/m/legal_mcp.yaml', '/m/legal_mcp.skills'],
    ['/m/a.b.yaml', '/m/a.b.skills'],
    ['/m.d/plain', '/m.d/plain.skills'],
    ['/m/.yaml', '/m/.yaml.skills'],
    ['C:\\m\\a.yml', 'C:\\m\\a.skills'],
  ])('2 the project directory of %s', (manifest, directory) => {
    expect(projectDirectory(manifest)).toBe(directory);
  });
});

describe('8 keys', () => {
  test('8 an empty file is an empty manifest', () => {
    expect(parse('')).toEqual({
      name: null,
      upstream: null,
      instructions: null,
      overviewPrefix: null,
      overviewTool: 'graph_overview',
      skills: null,
      delivery: 'auto',
      tools: [],
      extensions: {},
      toolsAllow: null,
      graph: null,
    });
  });
  test('8 a local command, with values as written', () => {
    const text = `name: mem\ncommand: npx\nargs: [-y, server, --port, 8080, 1.0]\nenv: {TOKEN: "${VARIABLE}"}\ncwd: ./x\nskills: true\ngraph: memory`;
    expect(parse(text)).toMatchObject({
      name: 'mem',
      upstream: {
        type: 'command',
        command: 'npx',
        args: ['-y', 'server', '--port', '8080', '1.0'],
        env: { TOKEN: VARIABLE },
        cwd: './x',
      },
      graph: { tools: ['read_graph'] },
    });
  });
  test('8 an address, as JSON too', () => {
    const text = `{"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${VARIABLE}"}}`;
    expect(parse(text).upstream).toEqual({
      type: 'url',
      url: 'https://example.com/mcp',
      headers: { Authorization: `Bearer ${VARIABLE}` },
    });
  });
  test('8 unknown keys are listed in order, and the known ones too', () => {
    expectRefused(
      'zeta: 1\nname: a\nalpha: 2',
      /`zeta`, `alpha` are no known keys; known are `name`, `command`/,
    );
  });
  test.each(['builtins', 'workspace', 'embedder', 'trust'])('8 %s is refused with a sentence', (key) => {
    for (const host of ['device', 'cloud'] as const) {
      expectRefused(`${key}: {}`, new RegExp(`\`${key}\`.*hosts no graph and runs none`), host);
    }
  });
  test.each(['cypher: "MATCH (n) RETURN n"', 'python: run.py'])(
    '8 a tool of its own (%s) is refused',
    (kind) => {
      expectRefused(
        `tools: [{name: t, ${kind}}]`,
        /`tools\[0\]\.\w+` defines a tool.*hosts no graph and runs none/,
      );
    },
  );
  test.each([
    ['command: x\nurl: https://a.b', /exclude each other/],
    ['args: [a]', /`args` goes with `command`/],
    ['headers: {a: b}', /`headers` goes with `url`/],
    ['url: ftp://a.b', /http or https/],
    ['url: nowhere', /http or https/],
    ['command: ""', /empty/],
    ['command: x\nargs: a', /`args`/],
    ['command: x\nargs: [[a]]', /`args\[0\]`/],
    ['command: x\nenv: {PORT: 80}', /`env\.PORT`.*double quotes/],
    ['name: [a]', /`name`/],
    ['instructions: 7', /`instructions`/],
    ['overview_prefix: {a: b}', /`overview_prefix`/],
    ['skills_delivery: sometimes', /eager, lazy or auto/],
    ['extensions: [a]', /`extensions`/],
    ['extensions: {tools_allow: a}', /`extensions\.tools_allow`/],
    ['tools: {a: b}', /`tools`/],
    ['tools: [a]', /`tools\[0\]`/],
    ['tools: [{bundled: a, colour: red, size: 1}]', /`colour`, `size` in `tools\[0\]` are no known keys/],
    ['tools: [{rename: a}]', /`tools\[0\]\.bundled`/],
    ['tools: [{bundled: a, rename: "1 x"}]', /`tools\[0\]\.rename`/],
    ['tools: [{bundled: a, hidden: "yes"}]', /`tools\[0\]\.hidden`/],
    ['tools: [{bundled: a}, {bundled: a}]', /changes `a` twice/],
    ['tools: [{bundled: a, rename: c}, {bundled: b, rename: c}]', /two tools the name `c`/],
    ['graph: oracle', /no preset `oracle`/],
    ['graph: {tool: t}', /`graph\.node_types`/],
    ['graph: {tool: t, node_types: "a..b"}', /`graph\.node_types` is no JMESPath/],
    ['graph: {tool: t, node_types: a, properties: "["}', /`graph\.properties` is no JMESPath/],
    ['graph: {tool: t, node_types: a, depth: 1}', /`depth` in `graph`/],
    ['graph: {tool: t, node_types: a, format: xml}', /`graph\.format`/],
    ['graph: {node_types: a}', /`graph\.tool`/],
    ['a: [', /valid YAML/],
    ['- a', /valid YAML/],
    ['name: a\nname: b', /Line 2 of/],
  ])('8 %j is a start-up error', (text, why) => expectRefused(text, why));
  test('8 of many unknown keys the first are named, and the others counted', () => {
    const text = Array.from({ length: 300 }, (_, i) => `k${i}: 1`).join('\n');
    expectRefused(text, /`k0`, .*`k19` and 280 more are no known keys; known are `name`/);
  });

  test.each([
    ['command: "a\\0b"', /`command` holds a NUL character/],
    ['command: x\nargs: [y, "hush\\0"]', /`args\[1\]` holds a NUL character/],
    ['command: x\nenv: {A: "hush\\0"}', /`env\.A` holds a NUL character/],
    ['command: x\ncwd: "hush\\0"', /`cwd` holds a NUL character/],
    ['url: http://x/\nheaders: {A: "hush\\0"}', /`headers\.A` holds a NUL character/],
    ['skills: ["hush\\0"]', /`skills\[0\]` holds a NUL character/],
    ['url: https://me:hush@example.com/mcp', /`url` holds a user name or a password/],
    ['name: " "', /`name` is blank/],
  ])('8 what nobody could use is refused, and no value is repeated: %j', (text, why) => {
    expectRefused(text, why);
    expect(() => parse(text)).not.toThrow(/hush/);
  });

  test('8 null counts as absent everywhere', () => {
    const nothing =
      'name:\ncommand:\nargs:\ninstructions: ~\noverview_prefix:\nextensions:\ntools:\ngraph:\nskills_delivery:';
    expect(parse(nothing)).toEqual(parse(''));
  });
  test.each(['command: x', 'command: x\nargs: [a]', 'url: https://a.b', 'headers: {a: b}'])(
    '8 in the cloud there are neither programs, addresses nor headers beside the server: %j',
    (text) => expectRefused(text, /in the cloud a server's address and its credential/, 'cloud'),
  );
  test('8 the known keys of a manifest in the cloud are those that it may have', () => {
    expectRefused('foo: 1', /known are `name`, `instructions`, .*`graph`\.$/, 'cloud');
  });
  test('8 a mapping of its own', () => {
    const text =
      'graph: {tool: t, arguments: {depth: 1}, format: json, node_types: "keys(@)", properties: "@"}';
    expect(parse(text).graph).toEqual({
      tools: ['t'],
      arguments: { depth: 1 },
      format: 'json',
      nodeTypes: 'keys(@)',
      properties: '@',
    });
  });
});
