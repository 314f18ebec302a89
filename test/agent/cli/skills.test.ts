import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, NODE, program, run, writeProject } from '../serve/harness.ts';

const FRAGILE = fileURLToPath(new URL('../serve/fragile.ts', import.meta.url));

test('skills check: 0 when all is well, 1 for an error, with --strict for a warning too', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'good.md'), skillFile({ name: 'good', description: 'When.' }));
  writeFileSync(join(cwd, 'long.md'), skillFile({ name: 'long' }, 'x'.repeat(17_000)));
  writeFileSync(join(cwd, 'bad.md'), '---\nname: bad\ndescription: TRIGGER: now\n---\n');

  const good = await run(['skills', 'check', 'good.md'], { cwd });
  expect(good).toMatchObject({ code: 0, stderr: '' });
  expect(good.stdout).toContain('Every description fits every client, methods included.');
  expect(good.stdout).toContain('1 skill, 0 errors, 0 warnings.');

  const long = await run(['skills', 'check', 'good.md', 'long.md'], { cwd });
  expect(long.code).toBe(0);
  expect(long.stdout).toMatch(/long +\d+ of 2048 +lazy +Claude Code/);
  expect(long.stdout).toContain('2 skills, 0 errors, 1 warning.');
  expect(long.stdout).toContain(`warning: ${join(cwd, 'long.md')}: `);
  expect((await run(['skills', 'check', '--strict', 'long.md'], { cwd })).code).toBe(1);

  const all = await run(['skills', 'check', '.'], { cwd });
  expect(all.code).toBe(1);
  expect(all.stdout).toContain(join(cwd, 'bad.md'));
  expect(all.stdout).toContain('2 skills, 1 error, 1 warning.');

  mkdirSync(join(cwd, 'folders', 'one'), { recursive: true });
  writeFileSync(join(cwd, 'folders', 'one', 'SKILL.md'), skillFile({ name: 'one' }));
  const none = await run(['skills', 'check', 'folders'], { cwd });
  expect(none.code).toBe(0);
  expect(none.stdout).toContain(`warning: ${join(cwd, 'folders')} holds no skill files`);

  const missing = await run(['skills', 'check', 'nowhere'], { cwd });
  expect(missing.code).toBe(1);
  expect(missing.stdout).toMatch(/^error: .*nowhere does not exist/);
});

test('the skill in the README has no fault when it is taken as it stands', async () => {
  const cwd = folder();
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```markdown\n(.*?)```/s.exec(readme) ?? [];
  writeFileSync(join(cwd, 'find_papers.md'), example);
  const checked = await run(['skills', 'check', '--strict', 'find_papers.md'], { cwd });
  expect([checked.code, checked.stdout]).toEqual([
    0,
    expect.stringMatching(/^find_papers .*1 skill, 0 errors/s),
  ]);
});

test('skills check: on which of the given tools each would ride, and how long that gets', async () => {
  const cwd = folder();
  const routing = 'TRIGGER when. '.repeat(20);
  writeFileSync(
    join(cwd, 'a.md'),
    skillFile({ name: 'a', description: routing, references_tools: ['two', 'none'] }),
  );
  writeFileSync(join(cwd, 'b.md'), skillFile({ name: 'one', applies_when: { tool_registered: 'x' } }));
  writeFileSync(join(cwd, 'c.md'), skillFile({ name: 'c' }));
  writeFileSync(join(cwd, 'd.md'), skillFile({ name: 'three', applies_when: { tool_registred: 'x' } }));
  const tools = [{ name: 'one', description: 'y'.repeat(1000) }, { name: 'two' }, { name: 'three' }];
  writeFileSync(join(cwd, 'tools.json'), JSON.stringify({ tools }));

  const { code, stdout } = await run(['skills', 'check', '.', '--tools', 'tools.json', '--json'], { cwd });
  expect(code).toBe(1);
  const checked = JSON.parse(stdout);
  expect(
    checked.skills.map(({ name, tools: on, gate }: { name: string; tools: string[]; gate: string[] }) => ({
      name,
      on,
      gate,
    })),
  ).toEqual([
    { name: 'a', on: ['two'], gate: [] },
    { name: 'one', on: ['one'], gate: ['tool_registered: x'] },
    { name: 'c', on: [], gate: [] },
    { name: 'three', on: [], gate: ['tool_registred (unreadable)'] },
  ]);
  const shown = await run(['skills', 'check', '.', '--tools', 'tools.json'], { cwd });
  expect(shown.stdout).toContain('  too long  ');
  const table = shown.stdout.split('\n').filter((line) => / of \d+ /.test(line));
  expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(checked.sizes).toContainEqual({
    client: 'ChatGPT',
    cap: 1024,
    tool: 'one',
    length: expect.any(Number),
    form: 'lazy',
    fits: false,
  });
  const codes = checked.diagnostics.map((each: { code: string; skill?: string }) => each.code);
  expect(codes).toContain('rides-nothing');
  expect(codes).toContain('over-cap');

  for (const file of [tools, { jsonrpc: '2.0', id: 1, result: { tools } }]) {
    writeFileSync(join(cwd, 'tools.json'), JSON.stringify(file));
    const same = await run(['skills', 'check', '.', '--tools', 'tools.json', '--json'], { cwd });
    expect(same.stdout).toBe(stdout);
  }
  writeFileSync(join(cwd, 'tools.json'), '{"tools": 3}');
  const wrong = await run(['skills', 'check', '.', '--tools', 'tools.json'], { cwd });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is no list of tools') });
  const both = await run(['skills', 'check', '.', '--tools', 'x', '--manifest', 'y'], { cwd });
  expect(both.code).toBe(2);
});

test("skills check asks a manifest's server for its tools", async () => {
  const { directory: cwd, own } = writeProject({
    manifest: { command: NODE, args: [FRAGILE], tools: [{ bundled: 'die', rename: 'stop' }] },
    skills: { 'stop.md': skillFile({ name: 'stop', references_tools: ['die'] }) },
  });
  const { code, stdout } = await run(['skills', 'check', own, '--manifest', 'server.yaml'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain('rides on stop\n');
});

test('skills new writes a file that checks clean, and never over another', async () => {
  const cwd = folder();
  const made = await run(['skills', 'new', 'find_papers', '--dir', 'notes.skills'], { cwd });
  expect(made.code).toBe(0);
  const path = join(cwd, 'notes.skills', 'find_papers.md');
  expect(made.stdout).toContain(path);
  expect(await run(['skills', 'check', '--strict', 'notes.skills'], { cwd })).toMatchObject({ code: 0 });
  writeFileSync(path, 'mine');
  const again = await run(['skills', 'new', 'find_papers', '--dir', 'notes.skills'], { cwd });
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') });
  expect(readFileSync(path, 'utf8')).toBe('mine');
  const inFile = await run(['skills', 'new', 'a', '--dir', path], { cwd });
  expect(inFile).toMatchObject({ code: 1, stderr: expect.stringContaining('is a file, and --dir needs') });
  const long = await run(['skills', 'new', 'a'.repeat(300)], { cwd });
  expect(long).toMatchObject({ code: 1, stderr: expect.stringContaining('has a longer name than') });
  for (const name of ['../x', 'a b', '.hidden', '']) {
    expect((await run(['skills', 'new', name], { cwd })).code, name).toBe(2);
  }
});

test('serve --explain says which layers, skills, gates and descriptions there are', async () => {
  const {
    directory: cwd,
    path,
    own,
  } = writeProject({
    manifest: {
      name: 'notes',
      command: NODE,
      args: [program('memory')],
      env: { MEMORY_FILE_PATH: join(folder(), 'm.jsonl') },
      graph: 'memory',
      extensions: { on: {}, off: false },
      skills: true,
    },
    skills: {
      'a.md': skillFile({ name: 'skills', description: 'Ours instead.' }, 'Replaced.\n'),
      'b.md': skillFile({
        name: 'papers',
        references_tools: ['open_nodes'],
        applies_when: { graph_has_node_type: ['Paper'], extension_enabled: 'on' },
      }),
      'c.md': skillFile({ name: 'read_graph' }, 'word '.repeat(600)),
    },
  });
  const told = await run(['serve', path, '--explain', '--client', 'claude-code', '--json'], { cwd });
  expect(told.code).toBe(0);
  const explained = JSON.parse(told.stdout);
  expect(explained.layers.map(({ kind }: { kind: string }) => kind)).toEqual([
    'project',
    'framework',
    'bundled',
  ]);
  expect(explained.skills).toContainEqual({
    name: 'skills',
    source: join(own, 'a.md'),
    layer: 'project',
    state: 'active',
    gate: [],
    failed: [],
    masks: ['bundled:skills'],
  });
  expect(explained.skills).toContainEqual(
    expect.objectContaining({
      name: 'papers',
      state: 'inactive',
      gate: ['graph_has_node_type: [Paper]', 'extension_enabled: on'],
      failed: ['graph_has_node_type: [Paper]'],
    }),
  );
  expect(explained).toMatchObject({
    client: 'Claude Code',
    cap: 2048,
    facts: { graph: {}, extensions: ['on'] },
  });
  const read = explained.tools.find(({ name }: { name: string }) => name === 'read_graph');
  expect(read).toMatchObject({ ride: { form: 'lazy' } });
  expect(read.length).toBe(read.description.length);

  const shown = await run(['serve', path, '--explain'], { cwd });
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain(
    'papers\n  no   graph_has_node_type: [Paper]\n  yes  extension_enabled: on\n',
  );
  expect(shown.stdout).toContain(`skills masks bundled:skills`);
  expect(shown.stdout).toMatch(/papers +inactive +project +server\.skills\/b\.md/);
  expect(shown.stdout).toMatch(/^Tools: .*,\n {2}.*open_nodes,\n? +skills$/m);
  expect(shown.stdout).toContain('Client: any other, no known cap');
  expect(shown.stdout).toContain('  Replaced.');
  expect((await run(['serve', path, '--json'], { cwd })).code).toBe(2);
  expect((await run(['serve', path, '--explain', '--client', 'nobody'], { cwd })).code).toBe(1);
  // The names that `connect` takes.
  const gemini = await run(['serve', path, '--explain', '--client', 'gemini'], { cwd });
  expect(gemini.stdout).toMatch(/^Client: Gemini CLI/m);
});

test('serve --explain: what keeps the server from being served is an error, and no graph has a reason', async () => {
  const gated = skillFile({ name: 'facts', applies_when: { graph_has_node_type: ['Paper'] } });
  const explained = async (manifest: Record<string, unknown>) => {
    const { directory: cwd } = writeProject({
      manifest: { command: NODE, args: [FRAGILE], ...manifest },
      skills: { 'a.md': gated },
    });
    return run(['serve', 'server.yaml', '--explain'], { cwd });
  };
  const off = await explained({ skills: null });
  expect(off).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Skills are off; write `skills: true`'),
  });

  const unmatched = await explained({ tools: [{ bundled: 'nowhere', hidden: true }] });
  expect(unmatched).toMatchObject({ code: 1, stdout: expect.stringContaining('error: ') });

  for (const [graph, reason] of [
    [null, 'Graph: not asked, since the manifest has no `graph`'],
    ['neo4j', 'Graph: cannot be asked, since the server has no tool get-schema or'],
    [{ tool: 'facts', node_types: 'length(@)' }, 'Graph: unknown, since facts gave no answer that tells it'],
  ] as const) {
    const { code, stdout } = await explained({ graph, skills: true });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(reason) });
    expect(stdout).toContain('facts\n  no   graph_has_node_type: [Paper]\n');
  }
});
