import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Item } from '../../../schema/item.ts';
import { type Computer, Setting, skill } from './harness.ts';

interface Status {
  paired: { name: string } | null;
  registry: { reachable: boolean; problem: string | null };
  agent: { running: boolean; behind: number | null };
  questions: string[];
  folders: {
    path: string;
    kind: string;
    clients: string[];
    wanted: number;
    on_disk: number;
    problem: string | null;
    exceptions: { name: string; state: string; message: string }[];
  }[];
}

const setting = new Setting();
let author: Computer;

beforeAll(async () => {
  await setting.startRegistry();
  author = await setting.paired('author');
  author.write({
    'set/one/SKILL.md': skill('one'),
    'set/two/SKILL.md': skill('two'),
    'set/agents/helper.md': skill('helper'),
  });
  await author.run(['add', 'set']);
});

afterAll(() => setting.end());

async function folder(computer: Computer, end: string) {
  const { folders } = await computer.json<Status>(['status']);
  const found = folders.find(({ path }) => path.endsWith(end));
  if (!found) throw new Error(`no folder ${end}`);
  return found;
}

test('wish and fact apart: before a pass, after it, with the agent stopped, and without the registry', async () => {
  const computer = await setting.paired('watched');
  const before = await computer.json<Status>(['status']);
  expect(before).toMatchObject({
    paired: { name: 'watched' },
    registry: { reachable: true },
    agent: { running: false },
  });
  expect(await folder(computer, '.claude/skills')).toMatchObject({
    kind: 'skill',
    clients: ['Claude Code'],
    wanted: 2,
    on_disk: 0,
    exceptions: [
      { name: 'one', state: 'missing' },
      { name: 'two', state: 'missing' },
    ],
  });

  await computer.run(['run', '--once']);
  expect(await folder(computer, '.claude/skills')).toMatchObject({ wanted: 2, on_disk: 2, exceptions: [] });
  expect(await folder(computer, '.claude/agents')).toMatchObject({ kind: 'persona', wanted: 1, on_disk: 1 });

  // Facts are looked up on the disk, not remembered.
  rmSync(join(computer.home, '.claude/skills/two'), { recursive: true });
  expect(await folder(computer, '.claude/skills')).toMatchObject({
    wanted: 2,
    on_disk: 1,
    exceptions: [{ name: 'two', state: 'changed_here' }],
  });
  await author.run(['edit', 'one', '--description', 'New.']);
  const behind = await computer.json<Status>(['status']);
  expect(behind.agent.behind).toBe(1);
  expect((await folder(computer, '.claude/skills')).exceptions.map(({ state }) => state)).toEqual([
    'outdated',
    'changed_here',
  ]);
  await computer.run(['run', '--once']);

  const port = Number(new URL(setting.url).port);
  await setting.stopRegistry();
  try {
    const offline = await computer.run(['status']);
    expect([offline.code, offline.stdout]).toMatchObject([0, expect.stringMatching(/not reachable$/m)]);
    expect(offline.stdout).toMatch(/^skills +2 +2 +~\/\.claude\/skills +Claude Code$/m);
    expect(offline.stdout).toContain('Wanted is as last known.');
    for (const line of offline.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const once = await computer.run(['run', '--once']);
    expect([once.code, once.stdout]).toMatchObject([1, expect.stringContaining('Kept')]);
    expect(await computer.run(['list'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be reached'),
    });
  } finally {
    await setting.startRegistry(port);
  }
});

test('a folder of one’s own with an item’s name: listed, then adopted, renamed or skipped', async () => {
  for (const name of ['adopt-me', 'rename-me', 'skip-me']) {
    author.write({ [`mine/${name}/SKILL.md`]: skill(name, 'From the registry.') });
  }
  await author.run(['add', 'mine']);
  const computer = await setting.paired('owner');
  const own = (name: string) => join(computer.home, '.claude/skills', name, 'SKILL.md');
  for (const name of ['adopt-me', 'rename-me', 'skip-me']) {
    computer.write({ [`.claude/skills/${name}/SKILL.md`]: skill(name, 'My own.') });
  }
  await computer.run(['run', '--once']);
  expect(readFileSync(own('adopt-me'), 'utf8')).toBe(skill('adopt-me', 'My own.'));
  const listed = await computer.run(['resolve']);
  expect(listed.stdout).toMatch(/^skill adopt-me in ~\/\.claude\/skills$/m);
  expect(listed.stdout).toContain('repertoire resolve NAME --adopt, --rename NEW or --skip.');
  const { held } = await computer.json<{ held: { name: string }[] }>(['resolve']);
  expect(held.map(({ name }) => name)).toEqual(['adopt-me', 'rename-me', 'skip-me']);
  expect((await computer.run(['status'])).stdout).toContain('skill adopt-me: held back in ~/.claude/skills.');
  for (const flags of [[], ['--adopt', '--skip']]) {
    const unsure = await computer.run(['resolve', 'adopt-me', ...flags]);
    expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining('Say one thing to do about')]);
  }
  expect((await computer.run(['resolve', 'one', '--adopt'])).code).toBe(1);

  expect((await computer.run(['resolve', 'adopt-me', '--adopt'])).stdout).toBe(
    'Your skill adopt-me is revision 2 now, on every device.\n',
  );
  await computer.run(['resolve', 'rename-me', '--rename', 'renamed']);
  expect((await computer.run(['resolve', 'skip-me', '--skip'])).stdout).toBe(
    'skill skip-me is skipped in ~/.claude/skills.\n',
  );
  await computer.run(['run', '--once']);
  expect(await computer.json<Item>(['show', 'adopt-me'])).toMatchObject({
    revision: 2,
    description: 'My own.',
  });
  expect(readFileSync(own('renamed'), 'utf8')).toContain('From the registry.');
  expect(readFileSync(own('rename-me'), 'utf8')).toBe(skill('rename-me', 'My own.'));
  expect(readFileSync(own('skip-me'), 'utf8')).toBe(skill('skip-me', 'My own.'));
  const left = await folder(computer, '.claude/skills');
  expect(left.exceptions.map(({ name, message }) => [name, message])).toEqual([
    ['skip-me', 'You chose to do without it here.'],
  ]);
});

test('a file that was edited here is left alone, and its text becomes the next revision when adopted', async () => {
  author.write({ 'edited-here/SKILL.md': skill('edited-here') });
  await author.run(['add', 'edited-here']);
  const computer = await setting.paired('editor');
  await computer.run(['run', '--once']);
  const path = join(computer.home, '.claude/skills/edited-here/SKILL.md');
  writeFileSync(path, skill('edited-here', 'Edited by hand.'));
  await computer.run(['run', '--once']);
  expect((await folder(computer, '.claude/skills')).exceptions).toMatchObject([
    {
      name: 'edited-here',
      state: 'changed_here',
      message: expect.stringContaining('repertoire resolve edited-here'),
    },
  ]);
  await computer.run(['resolve', 'edited-here', '--adopt']);
  await computer.run(['run', '--once']);
  expect(await folder(computer, '.claude/skills')).toMatchObject({ exceptions: [] });
  expect(await author.json<Item>(['show', 'edited-here'])).toMatchObject({
    revision: 2,
    description: 'Edited by hand.',
  });
});

test('many removals wait for confirm', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `many-${i + 1}`);
  for (const name of names) author.write({ [`many/${name}/SKILL.md`]: skill(name) });
  await author.run(['add', 'many']);
  const computer = await setting.paired('careful');
  await computer.run(['run', '--once']);
  await author.run(['remove', ...names, '--yes']);
  await computer.run(['run', '--once']);
  const there = () => names.filter((name) => existsSync(join(computer.home, '.claude/skills', name))).length;
  expect(there()).toBe(12);
  expect((await computer.json<Status>(['status'])).questions).toEqual([
    '12 items would be removed from this device, too many to go unasked. Run "repertoire confirm" to let them go, or restore them.',
  ]);
  const shown = (await computer.run(['status'])).stdout.replaceAll(/\s+/g, ' ');
  expect(shown).toContain('12 skills left over in ~/.agents/skills, ~/.claude/skills: many-1, many-10,');
  expect(shown.match(/The removal waits, with many others/g)).toHaveLength(1);
  const unasked = await computer.run(['confirm']);
  expect([unasked.code, unasked.stderr]).toMatchObject([1, expect.stringContaining('skill many-1,')]);
  expect((await computer.run(['confirm', '--yes'])).stdout).toContain('12 items may go');
  await computer.run(['run', '--once']);
  expect(there()).toBe(0);
  expect((await computer.run(['confirm'])).stderr).toBe('Nothing waits for your word here.\n');
});

test('a persona whose restriction a client cannot carry waits for the person’s word', async () => {
  author.write({
    'agents/reviewer.md': '---\nname: reviewer\ndescription: Reads.\ntools: Read, Grep\n---\n\nReview.\n',
  });
  await author.run(['add', 'agents']);
  const computer = await setting.paired('cautious');
  mkdirSync(join(computer.home, '.gemini'));
  await computer.run(['run', '--once']);
  const file = join(computer.home, '.gemini/agents/reviewer.md');
  expect(existsSync(file)).toBe(false);
  const asked = await computer.run(['confirm']);
  expect(asked.stdout).toMatch(/^reviewer +Gemini CLI$/m);
  expect((await folder(computer, '.gemini/agents')).exceptions).toMatchObject([
    {
      name: 'reviewer',
      state: 'awaits_agreement',
      message: expect.stringContaining('repertoire confirm --agree-persona reviewer'),
    },
  ]);
  expect((await computer.run(['resolve'])).stderr).toBe('Nothing is held back here.\n');
  expect((await computer.run(['confirm', '--agree-persona', 'nobody', '--yes'])).code).toBe(1);
  await computer.run(['confirm', '--agree-persona', 'reviewer', '--yes']);
  await computer.run(['run', '--once']);
  expect(readFileSync(file, 'utf8')).not.toContain('tools');
  await author.run(['remove', 'reviewer', '--yes']);
});

test('a client folder that is none is told each time, once for all its items', async () => {
  const computer = await setting.paired('broken');
  const path = join(computer.home, '.claude/skills');
  await computer.run(['run', '--once']);
  for (const put of [() => writeFileSync(path, 'mine'), () => symlinkSync('skills', path)]) {
    rmSync(path, { recursive: true });
    put();
    const once = await computer.run(['run', '--once']);
    expect([once.code, once.stdout]).toEqual([1, expect.stringMatching(/^Synced 2 folders/)]);
    expect(once.stderr).toContain(`${path} is `);
    expect(await folder(computer, '.claude/skills')).toMatchObject({
      on_disk: 0,
      problem: expect.stringContaining(`${path} is `),
      exceptions: [],
    });
  }
  expect((await computer.run(['status'])).stdout).toContain(' is a link that leads in a circle.');
});
