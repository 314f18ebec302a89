import { hash } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { expect, test, vi } from 'vitest';
import { openMirror } from '../../../agent/mirror.ts';
import { stateFiles } from '../../../agent/state.ts';
import { shippedLayers } from '../../../schema/riding/shipped.ts';
import { TOOLS } from '../../../schema/tools.ts';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, NODE, run, serveHere, writeProject } from './harness.ts';

const FRAGILE = fileURLToPath(new URL('fragile.ts', import.meta.url));
const manifest = { name: 'layers', command: NODE, args: [FRAGILE], skills: true };

/** The text on the tool `facts`. */
async function onFacts(client: Client): Promise<string> {
  const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
  return tools.find(({ name }) => name === 'facts')?.description ?? '';
}

const rider = (name: string, body: string) => skillFile({ name, references_tools: ['facts'] }, `${body}\n`);

test('2 of one name the highest layer wins whole: bundled, framework, project, second declared, first declared', async () => {
  const directory = folder();
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  for (const path of [first, second]) mkdirSync(path);
  writeFileSync(join(first, 'x.md'), rider('skills', 'of the first'));
  writeFileSync(join(second, 'x.md'), rider('skills', 'of the second'));
  const setup = { directory, skills: { 'x.md': rider('skills', 'of the project') } };
  const text = async (skills: unknown) =>
    onFacts((await serveHere({ ...setup, manifest: { ...manifest, skills } })).client);
  expect(await text(true)).toMatch(/of the project$/);
  expect(await text([true, './second'])).toMatch(/of the second$/);
  expect(await text([true, './first', second])).toMatch(/of the first$/);
  expect(await text('./second')).toMatch(/of the second$/);
  const { client } = await serveHere({ ...setup, manifest: { ...manifest, skills: [] } });
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(['skills']);
});

test('2 an inactive skill masks the one below, a dropped file none', async () => {
  const directory = folder();
  mkdirSync(join(directory, 'above'));
  const setup = {
    directory,
    manifest: { ...manifest, skills: [true, './above'] },
    skills: { 'a.md': rider('masked', 'below a'), 'b.md': rider('kept', 'below b') },
  };
  const gate = { tool_registered: 'nowhere' };
  writeFileSync(join(directory, 'above', 'a.md'), skillFile({ name: 'masked', applies_when: gate }));
  writeFileSync(join(directory, 'above', 'b.md'), '---\nname: kept\nname: kept\n---\n');
  const { client, said } = await serveHere(setup);
  const text = await onFacts(client);
  expect(text).not.toContain('below a');
  expect(text).toContain('below b');
  expect(said()).toContain(join(directory, 'above', 'b.md'));
});

test('1.4, bug 19: of two files with one name the first by name wins, and one line says so', async () => {
  const { client, said, own } = await serveHere({
    manifest,
    skills: { 'b.md': rider('twice', 'second'), 'B.md': rider('twice', 'first'), 'c.MD': rider('not', 'no') },
  });
  expect(await onFacts(client)).toMatch(/first$/);
  await onFacts(client);
  const lines = said()
    .split('\n')
    .filter((line) => line.includes('twice'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(join(own, 'b.md'));
  expect(lines[0]).toContain(join(own, 'B.md'));
});

test('2, bug 18: a file in the place of the directory is a warning; with skills off nothing is read', async () => {
  const directory = folder();
  writeFileSync(join(directory, 'server.skills'), 'no directory');
  const { said } = await serveHere({ directory, manifest });
  expect(said()).toMatch(/warning: .*server\.skills is no directory/);
  const off = await serveHere({
    manifest: { ...manifest, skills: null },
    skills: { 'x.md': rider('x', 'x'), 'broken.md': 'no front matter' },
  });
  expect(await onFacts(off.client)).toBe('');
  expect(off.said()).not.toContain('broken');
  expect((await off.client.listTools()).tools.map(({ name }) => name)).toEqual(['die', 'facts', 'wait']);
});

test('an edit is seen by the next list, and announced once', async () => {
  const { client, heard, own } = await serveHere({ manifest, skills: { 'x.md': rider('x', 'one') } });
  expect(await onFacts(client)).toMatch(/one$/);
  writeFileSync(join(own, 'x.md'), rider('x', 'two, and longer'));
  expect(await onFacts(client)).toMatch(/two, and longer$/);
  const methods = () => heard.map(({ method }) => method).sort();
  const pair = ['notifications/prompts/list_changed', 'notifications/tools/list_changed'];
  await vi.waitFor(() => expect(methods()).toEqual(pair));

  // Nobody lists: the watch notices, and a file that was moved into place as editors do.
  writeFileSync(join(own, 'tmp'), rider('x', 'three'));
  renameSync(join(own, 'tmp'), join(own, 'x.md'));
  await vi.waitFor(() => expect(methods()).toEqual([...pair, ...pair].sort()), 60_000);
  expect(await onFacts(client)).toMatch(/three$/);
  rmSync(join(own, 'x.md'));
  await vi.waitFor(() => expect(methods()).toHaveLength(6), 60_000);
  expect(await onFacts(client)).toBe('');
});

test('a project directory that comes later counts from then on', async () => {
  const directory = folder();
  const { client, heard } = await serveHere({ directory, manifest });
  expect(await onFacts(client)).toBe('');
  const own = join(directory, 'server.skills');
  mkdirSync(own);
  writeFileSync(join(own, 'x.md'), rider('x', 'late'));
  expect(await onFacts(client)).toMatch(/late$/);
  rmSync(own, { recursive: true });
  expect(await onFacts(client)).toBe('');
  expect(heard.length).toBeGreaterThan(0);
});

test('what lies in a directory that came later, or came again, is announced without a list', async () => {
  const directory = folder();
  const own = join(directory, 'server.skills');
  const declared = join(directory, 'declared');
  mkdirSync(declared);
  const { heard } = await serveHere({ directory, manifest: { ...manifest, skills: [true, './declared'] } });
  let announced = 0;
  const write = async (into: string, text: string) => {
    writeFileSync(join(into, 'tmp'), rider('x', text));
    renameSync(join(into, 'tmp'), join(into, 'x.md'));
    announced += 2;
    await vi.waitFor(() => expect(heard.length).toBe(announced), 60_000);
  };
  mkdirSync(own);
  await write(own, 'late');
  await write(own, 'late, edited');
  rmSync(declared, { recursive: true });
  mkdirSync(declared);
  await write(declared, 'again');
  await write(declared, 'again, edited');
});

test('1.4 a link to a file is read, a folder with a SKILL.md is not', async () => {
  const directory = folder();
  writeFileSync(join(directory, 'elsewhere.txt'), rider('linked', 'linked'));
  const own = join(directory, 'server.skills');
  mkdirSync(join(own, 'folder.md'), { recursive: true });
  writeFileSync(join(own, 'folder.md', 'SKILL.md'), rider('folder', 'folder'));
  symlinkSync(join(directory, 'elsewhere.txt'), join(own, 'x.md'));
  const { client } = await serveHere({ directory, manifest });
  const text = await onFacts(client);
  expect(text).toContain('linked');
  expect(text).not.toContain('folder');
});

test("the registry's skills ride from the device's own copy, below every declared path, without a network", async () => {
  const directory = folder();
  const state = stateFiles(join(directory, 'state'));
  const mirror = openMirror(state.mirror);
  const item = (name: string, text: string, state: 'active' | 'disabled' = 'active') => {
    const digest = hash('sha256', text, 'hex');
    mirror.keep(digest, Buffer.from(text));
    return {
      id: `${name}-id`,
      kind: 'skill' as const,
      name,
      description: '',
      state,
      revision: 1,
      digest,
      flags: [],
      updated_at: 1,
      files: [{ path: 'SKILL.md', digest, size: text.length, executable: false }],
    };
  };
  const advance = (...items: ReturnType<typeof item>[]) =>
    mirror.advance({ items, cursor: `e:${items.length}` });
  advance(
    item('all-facts', rider('all-facts', 'about facts')),
    item('facts', skillFile({ name: 'facts' }, 'by its name')),
    item('unrelated', skillFile({ name: 'unrelated', description: 'Cooking.' }, 'cook')),
    item('off', rider('off', 'switched off'), 'disabled'),
    item('over', rider('over', 'of the registry')),
  );
  mkdirSync(join(directory, 'declared'));
  writeFileSync(join(directory, 'declared', 'x.md'), rider('over', 'of the path'));
  const setup = { manifest: { ...manifest, skills: ['./declared'] }, directory, state };
  const { client, heard } = await serveHere(setup);
  const text = await onFacts(client);
  expect(text).toContain('about facts');
  expect(text).toContain('by its name');
  expect(text).toContain('of the path');
  expect(text).not.toMatch(/switched off|of the registry/);
  const names = (await client.listPrompts()).prompts.map(({ name }) => name);
  expect(names).toEqual(['all-facts', 'facts', 'over']);

  advance(item('all-facts', rider('all-facts', 'about facts, edited')));
  await vi.waitFor(() => expect(heard.length).toBe(2), 60_000);
  expect(await onFacts(client)).toContain('about facts, edited');
});

test('bug 6, bug 8: every skill of ours is registered under its name, whole, and names only parameters that exist', () => {
  const shipped = [...shippedLayers().bundled.skills, ...shippedLayers().framework.skills];
  expect(shipped.map(({ name }) => name).sort()).toEqual(
    ['answers_in_pages', 'skill_edit', 'skills', 'tools_at_once'].sort(),
  );
  const parameters = new Set(
    Object.values(TOOLS).flatMap(({ inputSchema }) => Object.keys(inputSchema.shape)),
  );
  for (const { name, body, description, gate, method } of shipped) {
    expect(Buffer.byteLength(method), name).toBeLessThanOrEqual(1_200);
    // None is about a tool that may not be there.
    expect(gate, name).toEqual([{ predicate: 'tool_registered', tool: expect.stringMatching(/^skill/) }]);
    for (const [, word = ''] of `${description} ${body}`.matchAll(/`([a-z_]+)`/g)) {
      expect([...parameters, 'next_start', 'skills', 'skill_edit'], `${name}: ${word}`).toContain(word);
    }
  }
});

test.each(['codex', 'claude-code'])(
  'bug 12: what we ship fits what %s shows of a description',
  async (client) => {
    const { path, directory } = writeProject({ manifest });
    const { stdout } = await run(['serve', path, '--explain', '--client', client, '--json'], {
      cwd: directory,
    });
    const { tools, cap, diagnostics } = JSON.parse(stdout) as {
      tools: { name: string; length: number; ride: { skills: { name: string }[] } | null }[];
      cap: number;
      diagnostics: unknown[];
    };
    const skills = tools.find(({ name }) => name === 'skills');
    expect(skills?.ride?.skills.map(({ name }) => name)).toEqual([
      'skills',
      'answers_in_pages',
      'tools_at_once',
    ]);
    expect(skills?.length).toBeLessThanOrEqual(cap);
    expect(diagnostics).toEqual([]);
  },
);
