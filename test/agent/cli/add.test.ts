import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTokenFile } from '../../../agent/cli/session.ts';
import { Registry } from '../../../agent/registry.ts';
import { type Computer, Setting, skill } from './harness.ts';

const setting = new Setting();
let computer: Computer;
let registry: Registry;

beforeAll(async () => {
  await setting.startRegistry();
  computer = await setting.paired('laptop');
  const { token } = readTokenFile(setting.ownerFile);
  registry = new Registry({ url: setting.url, credentials: { type: 'bearer', token } });
});

afterAll(() => setting.end());

async function fileOf(name: string, path: string, kind: 'skill' | 'persona' = 'skill') {
  const item = await registry.item({ kind, name });
  const entry = item.files.find((file) => file.path === path);
  return entry && { ...entry, bytes: Buffer.from(await registry.blob(entry.digest)) };
}

interface Results {
  results: { path: string; outcome: string; name?: string; reason?: string; flags?: { code: string }[] }[];
}

test('many at once, one that fails does not stop the rest, and the summary names each with its reason', async () => {
  computer.write({
    'set/a/SKILL.md': skill('set-a'),
    'set/b/SKILL.md': '---\nname: x\nx: !!js/function x\n---\n',
    'set/c/SKILL.md': skill('set-c'),
    'set/agents/d.md': skill('set-d'),
    'set/e/SKILL.md': skill('set-e', 'd', `token ghp_${'a1B2c3D4e5'.repeat(3)}f6G7h8\n`),
    'set/No Name/SKILL.md': 'just text\n',
  });
  const { code, stdout, stderr } = await computer.run(['add', 'set', 'nowhere']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^2 skills and 1 persona added, 4 failed\.\n/);
  const failed = stdout.slice(stdout.indexOf('\nFailed\n')).replace(/\n {4}/g, ' ');
  expect(failed).toMatch(/^ {2}nowhere: does not exist\.$/m);
  expect(failed).toMatch(
    /^ {2}set\/No Name: "No Name" is no valid name: .* such as no-name\. --rename takes that\.$/m,
  );
  expect(failed).toMatch(/^ {2}set\/b: .*Line 3/m);
  expect(failed).toMatch(/^ {2}set\/e: .*SKILL\.md/m);
  expect(stdout + stderr).not.toContain('ghp_a1B2');
  expect(stderr).toMatch(/^Adding: 6 of 6$/m);
  expect((await registry.list()).items.map(({ name }) => name)).toEqual(['set-a', 'set-c', 'set-d']);
});

test('again: unchanged; different: refused, until --update makes it the next revision and drops what is gone', async () => {
  computer.write({ 'one/SKILL.md': skill('one'), 'one/old.md': 'old', 'one/run.sh': '#!/bin/sh\n' });
  chmodSync(join(computer.home, 'one/run.sh'), 0o755);
  expect((await computer.run(['add', 'one'])).stdout).toBe('1 skill added.\n');
  expect(await fileOf('one', 'run.sh')).toMatchObject({ executable: true });
  expect((await computer.run(['add', 'one'])).stdout).toBe('Nothing added, 1 already there, unchanged.\n');

  computer.write({ 'two/one/SKILL.md': skill('one', 'Better.') });
  const refused = await computer.run(['add', 'two']);
  expect(refused.code).toBe(1);
  expect(refused.stdout.replace(/\n {4}/g, ' ')).toContain(
    'two/one: there is a skill one already, and it differs in SKILL.md, old.md, run.sh; --update makes this its next revision.',
  );
  expect((await registry.item({ kind: 'skill', name: 'one' })).revision).toBe(1);

  const updated = await computer.json<Results>(['add', 'two', '--update']);
  expect(updated.results).toMatchObject([{ path: 'two/one', outcome: 'updated', name: 'one', revision: 2 }]);
  const item = await registry.item({ kind: 'skill', name: 'one' });
  expect(item.files.map(({ path }) => path)).toEqual(['SKILL.md']);
  expect(item.description).toBe('Better.');
});

test('two of one name in one import: the first is taken, the other refused unless it is the same', async () => {
  computer.write({
    'twins/a/twin/SKILL.md': skill('twin'),
    'twins/b/twin/SKILL.md': skill('twin', 'Another.'),
    'twins/c/twin/SKILL.md': skill('twin'),
  });
  const { code, stdout } = await computer.run(['add', 'twins', '--json']);
  const { results } = JSON.parse(stdout) as Results;
  expect(code).toBe(1);
  expect(results.map(({ outcome }) => outcome)).toEqual(['added', 'failed', 'unchanged']);
  expect(results[1]?.reason).toBe('is another skill called twin than twins/a/twin; rename one of them.');
});

test('an item of more than one request carries goes blob by blob, binary and text, byte for byte', async () => {
  const bytes = Array.from({ length: 4 }, () => randomBytes(1024 * 1024));
  computer.write({
    'large/SKILL.md': skill('large'),
    ...Object.fromEntries(bytes.map((each, i) => [`large/data/${i}.bin`, each])),
  });
  expect((await computer.run(['add', 'large'])).stdout).toBe('1 skill added.\n');
  for (const [i, each] of bytes.entries()) {
    expect((await fileOf('large', `data/${i}.bin`))?.bytes.equals(each)).toBe(true);
  }
});

test('flags are reported, names agreed to with --rename, and skill.md kept as SKILL.md', async () => {
  computer.write({
    'odd/My Notes/skill.md': '---\ndescription: a: b\n---\ntext\n',
    'odd/agents/other.md': skill('architect'),
  });
  const { code, stdout, stderr } = await computer.run(['add', 'odd', '--rename']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^1 skill and 1 persona added\.$/m);
  expect(stdout).toMatch(/^ +1 {2}unquoted-colon +my-notes$/m);
  expect(stdout).toMatch(/^ +1 {2}name-differs +architect$/m);
  expect(stderr.replace(/\n {2}/g, ' ')).toContain(
    'note: odd/My Notes: its name "My Notes" was taken as my-notes.',
  );
  expect((await fileOf('my-notes', 'SKILL.md'))?.bytes.toString()).toBe(
    '---\ndescription: a: b\n---\ntext\n',
  );
});

test('a removed item is taken up again by adding it', async () => {
  computer.write({ 'again/SKILL.md': skill('again') });
  await computer.run(['add', 'again']);
  await computer.run(['remove', 'again', '--yes']);
  expect((await computer.run(['add', 'again'])).stdout).toBe('1 skill added.\n');
  expect(await registry.item({ kind: 'skill', name: 'again' })).toMatchObject({ state: 'active' });
});

test('works with a token alone, and lines fit 80 columns', async () => {
  const other = setting.computer('unpaired');
  other.write({ 'agents/someone.md': skill('someone', 'Long words. '.repeat(40)) });
  const { code, stdout } = await other.run(['add', 'agents', '--token-file', setting.ownerFile]);
  expect([code, stdout]).toEqual([0, '1 persona added.\n']);
  const list = await other.run(['list', '--token-file', setting.ownerFile]);
  expect(list.stdout).toContain('someone');
  for (const line of list.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect((await other.run(['list'])).stderr).toContain('This computer is not paired');
});

test('personas that the agent itself wrote for a client are not added as new ones', async () => {
  const device = await setting.paired('with-cursor');
  device.write({
    '.cursor/marker': '',
    'agents/planner.md': `---\nname: planner\ndescription: d\nmodel: x\n---\n\nPlan.\n`,
  });
  await device.run(['add', 'agents']);
  await device.run(['run', '--once']);
  const { results } = await device.json<Results>(['add', '.cursor/agents']);
  expect(results.map(({ path, outcome }) => [path, outcome])).toContainEqual([
    '.cursor/agents/planner.md',
    'unchanged',
  ]);
  expect(results.every(({ outcome }) => outcome === 'unchanged')).toBe(true);
});
