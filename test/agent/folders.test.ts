import { hash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Mirror, type MirrorItem, openMirror } from '../../agent/mirror.ts';
import { createFolders, type Folders } from '../../agent/pass.ts';
import {
  changeSettings,
  makeStateFolder,
  openRecords,
  type Records,
  readCondition,
  type StateFiles,
  stateFiles,
} from '../../agent/state.ts';
import { digestInput } from '../../schema/digest.ts';
import type { Kind, State } from '../../schema/item.ts';
import { Random } from './random.ts';
import { freshFolder } from './registry.ts';

const sha = (content: string | Uint8Array) => hash('sha256', content, 'hex');

/** A device whose mirror is filled by hand: what plans and writes is real, and so is the disk. */
class Device {
  readonly home = freshFolder('home');
  readonly files: StateFiles = stateFiles(join(this.home, 'state'));
  readonly mirror: Mirror;
  readonly records: Records;
  readonly folders: Folders;
  /** Milliseconds that have passed for the device alone. */
  ahead = 0;
  #clock = 1;

  constructor(clients: string[], step: () => void = () => {}) {
    for (const client of clients) mkdirSync(join(this.home, client), { recursive: true });
    makeStateFolder(this.files);
    this.mirror = openMirror(this.files.mirror);
    this.records = openRecords(this.files);
    this.folders = createFolders({
      files: this.files,
      records: this.records,
      mirror: this.mirror,
      machine: { env: {}, home: this.home, platform: 'linux' },
      executableBit: true,
      now: () => Date.now() + this.ahead,
      step,
    });
  }

  /** What the registry tells next about an item. */
  told(
    name: string,
    texts: Record<string, string>,
    more: { kind?: Kind; state?: State; id?: string; executable?: string[] } = {},
  ): MirrorItem {
    const { kind = 'skill', state = 'active', id = `id-${kind}-${name}`, executable = [] } = more;
    const files = Object.entries(texts).map(([path, text]) => {
      this.mirror.keep(sha(text), Buffer.from(text));
      return { path, digest: sha(text), size: text.length, executable: executable.includes(path) };
    });
    const item: MirrorItem = {
      id,
      kind,
      name,
      description: `about ${name}`,
      state,
      revision: (this.mirror.item(id)?.revision ?? 0) + 1,
      digest: sha(digestInput(files)),
      flags: [],
      updated_at: this.#clock++,
      files: state === 'removed' ? [] : files,
    };
    this.mirror.advance({ items: [item], cursor: `e:${this.#clock}` });
    return item;
  }

  path(...parts: string[]) {
    return join(this.home, ...parts);
  }

  put(path: string, text: string) {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text);
  }

  read(path: string) {
    return readFileSync(this.path(path), 'utf8');
  }

  facts() {
    return Array.from(this.records.facts.entries(), ([, { name, state, folder }]) => [
      folder.slice(this.home.length + 1),
      name,
      state,
    ]);
  }

  fact(folder: string, name: string) {
    for (const [, fact] of this.records.facts.entries()) {
      if (fact.name === name && fact.folder === this.path(folder)) return fact;
    }
    throw new Error(`no fact about ${name} in ${folder}`);
  }
}

/** Every file below a folder, by path. */
function tree(folder: string, prefix = ''): Map<string, string> {
  const files = new Map<string, string>();
  if (!existsSync(folder)) return files;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.repertoire-')) continue;
    const path = prefix + entry.name;
    if (entry.isDirectory())
      for (const [key, text] of tree(join(folder, entry.name), `${path}/`)) files.set(key, text);
    else files.set(path, readFileSync(join(folder, entry.name), 'utf8'));
  }
  return files;
}

describe('writing', () => {
  it('makes no folder for nothing', async () => {
    const device = new Device(['.claude']);
    const { folders } = await device.folders.pass('all');
    expect(folders).toEqual([]);
    expect(readdirSync(device.home).sort()).toEqual(['.claude', 'state']);
    expect(readdirSync(device.path('.claude'))).toEqual([]);
  });

  it('writes a skill with the same bytes into every folder that serves a client, and reads them back', async () => {
    const device = new Device(['.claude', '.codex']);
    const texts = { 'SKILL.md': '---\nname: greet\n---\nHi\n', 'scripts/run.sh': '#!/bin/sh\n' };
    const item = device.told('greet', texts, { executable: ['scripts/run.sh'] });
    const { events } = await device.folders.pass('all');
    for (const folder of ['.agents/skills', '.claude/skills']) {
      expect(Object.fromEntries(tree(device.path(folder, 'greet')))).toEqual(texts);
      expect(statSync(device.path(folder, 'greet/scripts/run.sh')).mode & 0o100).toBe(0o100);
      expect(device.fact(folder, 'greet')).toMatchObject({
        state: 'written',
        revision: 1,
        digest: item.digest,
      });
    }
    expect(existsSync(device.path('.codex/skills'))).toBe(false);
    expect(events.map(({ action, revision }) => [action, revision])).toEqual([['wrote', 1]]);
  });

  it('gives each client a persona in its own form, and asks before it drops a restriction', async () => {
    const device = new Device(['.claude', '.codex', '.gemini']);
    const text = '---\nname: judge\ndescription: weighs\ntools: Read\n---\nWeigh.\n';
    const item = device.told('judge', { 'PERSONA.md': text }, { kind: 'persona' });
    const { folders } = await device.folders.pass('all');
    expect(device.read('.claude/agents/judge.md')).toBe(text);
    expect(existsSync(device.path('.codex/agents'))).toBe(false);
    expect(folders.find(({ folder }) => folder.format === 'codex')?.state).toBe('written');
    expect(device.fact('.codex/agents', 'judge')).toMatchObject({
      state: 'held_back',
      message: expect.stringContaining('tools'),
    });
    changeSettings(device.files, () => ({ agreed: [{ item: item.id, client: 'codex' }] }));
    await device.folders.pass(new Set());
    expect(device.read('.codex/agents/judge.toml')).toContain('developer_instructions');
    expect(device.fact('.gemini/agents', 'judge').state).toBe('held_back');
  });

  it('keeps the files of an item that the registry forgot, until another takes the name', async () => {
    const device = new Device(['.claude']);
    const { id } = device.told('greet', { 'SKILL.md': 'mine', 'more.md': 'mine' });
    await device.folders.pass('all');
    device.mirror.advance({ items: [], cursor: 'e:1', unknown: [id] });
    await device.folders.pass('all');
    expect(device.read('.claude/skills/greet/SKILL.md')).toBe('mine');
    device.told('greet', { 'SKILL.md': 'another' }, { id: 'id-another' });
    await device.folders.pass('all');
    expect([...tree(device.path('.claude/skills'))]).toEqual([['greet/SKILL.md', 'another']]);
    expect(device.fact('.claude/skills', 'greet').state).toBe('written');
  });

  it('ends with no write under way, also when the ledger cannot be written', async () => {
    const device = new Device(['.claude']);
    const items = Array.from({ length: 20 }, (_, n) => device.told(`greet-${n}`, { 'SKILL.md': `${n}` }));
    await device.folders.pass('all');
    const ledger = device.path('state/ledger.jsonl');
    rmSync(ledger);
    mkdirSync(ledger);
    for (const [n] of items.entries()) device.told(`greet-${n}`, { 'SKILL.md': `new ${n}` });
    await expect(device.folders.pass('all')).rejects.toThrow(/ledger\.jsonl could not be written/);
    const after = [...tree(device.path('.claude'))];
    await sleep(20);
    expect([...tree(device.path('.claude'))]).toEqual(after);
    rmSync(ledger, { recursive: true });
    await device.folders.pass('all');
    const texts = [...tree(device.path('.claude/skills')).values()].sort();
    expect(texts).toEqual(items.map((_, n) => `new ${n}`).sort());
  });

  it('takes away what is disabled, and brings it back', async () => {
    const device = new Device(['.claude']);
    const item = device.told('greet', { 'SKILL.md': '1' });
    await device.folders.pass('all');
    device.told('greet', { 'SKILL.md': '1' }, { state: 'disabled' });
    const { events } = await device.folders.pass(new Set([item.id]));
    expect(events.map(({ action }) => action)).toEqual(['removed']);
    expect(existsSync(device.path('.claude/skills/greet'))).toBe(false);
    expect(device.facts()).toEqual([]);
    device.told('greet', { 'SKILL.md': '1' });
    await device.folders.pass(new Set([item.id]));
    expect(device.read('.claude/skills/greet/SKILL.md')).toBe('1');
  });

  it('moves a renamed item, and lets another take a name that became free', async () => {
    const device = new Device(['.claude']);
    const old = device.told('old', { 'SKILL.md': 'mine' });
    await device.folders.pass('all');
    device.told('new', { 'SKILL.md': 'mine too' }, { id: old.id });
    const next = device.told('old', { 'SKILL.md': 'another' }, { id: 'id-another' });
    await device.folders.pass(new Set([old.id, next.id]));
    expect([...tree(device.path('.claude/skills'))].sort()).toEqual([
      ['new/SKILL.md', 'mine too'],
      ['old/SKILL.md', 'another'],
    ]);
    device.told('newer', { 'SKILL.md': 'mine too' }, { id: old.id });
    await device.folders.pass(new Set([old.id]));
    expect([...tree(device.path('.claude/skills')).keys()].sort()).toEqual([
      'newer/SKILL.md',
      'old/SKILL.md',
    ]);
  });

  it('waits with an item whose name another one holds, and writes the rest', async () => {
    const device = new Device([]);
    device.told('twin', { 'SKILL.md': '1' });
    device.told('twin', { 'SKILL.md': '2' }, { id: 'id-second' });
    device.told('fine', { 'SKILL.md': '3' });
    await device.folders.pass('all');
    expect(device.read('.agents/skills/twin/SKILL.md')).toBe('1');
    expect(device.read('.agents/skills/fine/SKILL.md')).toBe('3');
    expect(device.facts().map(([, name, state]) => [name, state])).toContainEqual(['twin', 'failed']);
  });

  it('says of an item whose bytes are missing that it failed, leaves the old ones, and writes it once they are here', async () => {
    const device = new Device([]);
    const item = device.told('greet', { 'SKILL.md': 'old' });
    await device.folders.pass('all');
    const [file] = item.files;
    if (!file) throw new Error('one file');
    const lacking = { ...item, revision: 2, files: [{ ...file, digest: sha('new') }] };
    device.mirror.advance({ items: [lacking], cursor: 'e:9' });
    device.told('other', { 'SKILL.md': 'other' });
    await device.folders.pass('all');
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('old');
    expect(device.read('.agents/skills/other/SKILL.md')).toBe('other');
    expect(device.fact('.agents/skills', 'greet')).toMatchObject({ state: 'failed', revision: 1 });
    device.mirror.keep(sha('new'), Buffer.from('new'));
    await device.folders.pass('all');
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('new');
  });
});

describe('what is not the agent’s', () => {
  it('is adopted when its bytes are equal, without a write', async () => {
    const device = new Device(['.claude']);
    device.put('.claude/skills/greet/SKILL.md', 'same');
    device.put('.claude/skills/greet/own.txt', 'mine');
    const before = lstatSync(device.path('.claude/skills/greet/SKILL.md'));
    const item = device.told('greet', { 'SKILL.md': 'same' });
    const { events } = await device.folders.pass('all');
    expect(lstatSync(device.path('.claude/skills/greet/SKILL.md')).ino).toBe(before.ino);
    expect(device.fact('.claude/skills', 'greet')).toMatchObject({ state: 'adopted', digest: item.digest });
    expect(events.map(({ action }) => action).sort()).toEqual(['adopted', 'wrote']);
    device.told('greet', {}, { state: 'removed' });
    await device.folders.pass(new Set([item.id]));
    expect(tree(device.path('.claude/skills'))).toEqual(new Map([['greet/own.txt', 'mine']]));
  });

  it('is left alone when its bytes differ, and ours goes to the other folders', async () => {
    const device = new Device(['.claude']);
    device.put('.claude/skills/greet/SKILL.md', 'mine');
    symlinkSync(device.path('.claude/skills/greet'), device.path('.claude/skills/linked'));
    device.told('greet', { 'SKILL.md': 'theirs' });
    device.told('linked', { 'SKILL.md': 'theirs' });
    const first = await device.folders.pass('all');
    const again = await device.folders.pass('all');
    expect(device.read('.claude/skills/greet/SKILL.md')).toBe('mine');
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('theirs');
    expect(device.fact('.claude/skills', 'linked').state).toBe('held_back');
    expect(device.fact('.claude/skills', 'greet')).toMatchObject({
      state: 'held_back',
      digest: sha(digestInput([{ path: 'SKILL.md', digest: sha('mine'), executable: false }])),
    });
    expect(first.events.filter(({ action }) => action === 'held_back')).toHaveLength(2);
    expect(again.events).toEqual([]);
  });

  it('is told where a client reads it beside ours, and not touched', async () => {
    const device = new Device(['.codex']);
    device.put('.codex/skills/greet/SKILL.md', 'mine');
    device.told('greet', { 'SKILL.md': 'theirs' });
    await device.folders.pass('all');
    expect(device.fact('.agents/skills', 'greet')).toMatchObject({
      state: 'written',
      message: expect.stringMatching(/another one in .*\.codex\/skills\/greet, which Codex reads as well/),
    });
    rmSync(device.path('.codex/skills/greet'), { recursive: true });
    await device.folders.pass('all');
    expect(device.fact('.agents/skills', 'greet')).not.toHaveProperty('message');
  });

  it('is a link by which two client folders are one: each item is there once, and follows the registry', async () => {
    const device = new Device(['.claude']);
    mkdirSync(device.path('.agents/skills'), { recursive: true });
    symlinkSync(device.path('.agents/skills'), device.path('.claude/skills'));
    const item = device.told('greet', { 'SKILL.md': '1' });
    await device.folders.pass('all');
    expect(
      device
        .facts()
        .map(([, , state]) => state)
        .sort(),
    ).toEqual(['adopted', 'written']);
    device.told('greet', { 'SKILL.md': '2' });
    await device.folders.pass(new Set([item.id]));
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('2');
    expect(device.facts().map(([, , state]) => state)).toEqual(['written', 'written']);
    device.told('greet', {}, { state: 'removed' });
    await device.folders.pass(new Set([item.id]));
    expect(readdirSync(device.path('.agents/skills'))).toEqual([]);
    expect([...device.records.ledger.entries()]).toEqual([]);
  });

  it('stays out of the way once the person skips the item there', async () => {
    const device = new Device(['.claude']);
    device.put('.claude/skills/greet/SKILL.md', 'mine');
    const item = device.told('greet', { 'SKILL.md': 'theirs' });
    const folder = device.path('.claude/skills');
    changeSettings(device.files, () => ({ skipped: [{ item: item.id, folder }] }));
    await device.folders.pass('all');
    rmSync(device.path('.claude/skills/greet'), { recursive: true });
    await device.folders.pass('all');
    expect(existsSync(device.path('.claude/skills/greet'))).toBe(false);
    expect(device.fact('.claude/skills', 'greet').state).toBe('held_back');
  });

  it('is what a person edited: it survives updates and removal, and is the agent’s again when it is as wanted', async () => {
    const device = new Device(['.claude']);
    const item = device.told('greet', { 'SKILL.md': '1', x: '1' });
    await device.folders.pass('all');
    device.put('.claude/skills/greet/SKILL.md', 'edited');
    device.told('greet', { 'SKILL.md': '2', x: '2' });
    await device.folders.pass(new Set([item.id]));
    expect(Object.fromEntries(tree(device.path('.claude/skills/greet')))).toEqual({
      'SKILL.md': 'edited',
      x: '1',
    });
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('2');
    expect(device.fact('.claude/skills', 'greet')).toMatchObject({ state: 'changed_here', revision: 1 });
    device.told('greet', {}, { state: 'removed' });
    await device.folders.pass(new Set([item.id]));
    expect(device.read('.claude/skills/greet/SKILL.md')).toBe('edited');
    expect(existsSync(device.path('.agents/skills/greet'))).toBe(false);
    device.put('.claude/skills/greet/SKILL.md', '1');
    await device.folders.pass('all');
    expect(existsSync(device.path('.claude/skills/greet'))).toBe(false);
  });

  it('is restored when a person deletes what the agent wrote', async () => {
    const device = new Device([]);
    device.told('greet', { 'SKILL.md': '1', 'sub/x': 'x' });
    await device.folders.pass('all');
    rmSync(device.path('.agents/skills/greet/sub'), { recursive: true });
    await device.folders.pass('all');
    expect(device.read('.agents/skills/greet/sub/x')).toBe('x');
    rmSync(device.path('.agents'), { recursive: true });
    await device.folders.pass('all');
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('1');
  });
});

describe('removing', () => {
  it('waits for the person when it is a lot at once, while all else goes on', async () => {
    const device = new Device(['.claude']);
    const names = Array.from({ length: 12 }, (_, n) => `skill-${n}`);
    for (const name of names) device.told(name, { 'SKILL.md': name });
    await device.folders.pass('all');
    for (const name of names.slice(1)) device.told(name, {}, { state: 'removed' });
    device.told('skill-0', { 'SKILL.md': 'new' });
    const { waiting } = await device.folders.pass('all');
    expect(waiting).toBe(11);
    expect(readdirSync(device.path('.claude/skills'))).toHaveLength(12);
    expect(device.read('.claude/skills/skill-0/SKILL.md')).toBe('new');
    expect(device.fact('.claude/skills', 'skill-1')).toMatchObject({ state: 'held_back' });
    const { brake } = readCondition(device.files);
    expect(brake?.items.map(({ name }) => name).sort()).toEqual(names.slice(1).sort());

    changeSettings(device.files, () => ({ confirmed: brake?.items.map(({ key }) => key) ?? [] }));
    await device.folders.pass(new Set());
    expect(readdirSync(device.path('.claude/skills'))).toEqual(['skill-0']);
    expect(readCondition(device.files).brake).toBeNull();
  });

  it('waits, too, when it comes one by one, until the person says so', async () => {
    const device = new Device(['.claude']);
    const names = Array.from({ length: 100 }, (_, n) => `skill-${n}`);
    for (const name of names) device.told(name, { 'SKILL.md': name });
    await device.folders.pass('all');
    for (const name of names.slice(0, 14))
      await device.folders.pass(new Set([device.told(name, {}, { state: 'removed' }).id]));
    expect(readdirSync(device.path('.claude/skills'))).toHaveLength(90);
    device.ahead += 3_600_000;
    await device.folders.pass('all');
    expect(readdirSync(device.path('.claude/skills'))).toHaveLength(90);
    const { brake } = readCondition(device.files);
    changeSettings(device.files, () => ({ confirmed: brake?.items.map(({ key }) => key) ?? [] }));
    await device.folders.pass(new Set());
    expect(readdirSync(device.path('.claude/skills'))).toHaveLength(86);
  });

  it('needs a record: what the mirror does not know stays', async () => {
    const device = new Device([]);
    device.told('greet', { 'SKILL.md': '1' });
    await device.folders.pass('all');
    const forgetful = createFolders({
      files: device.files,
      records: device.records,
      mirror: openMirror(freshFolder('empty')),
      machine: { env: {}, home: device.home, platform: 'linux' },
      executableBit: true,
      now: Date.now,
    });
    await forgetful.pass('all');
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('1');
  });
});

describe('a folder that cannot be written', () => {
  it('is said to have failed, stops no other, and is written by the next pass that can', async () => {
    const device = new Device(['.claude']);
    device.put('.claude/skills', 'a file where the folder should be');
    const item = device.told('greet', { 'SKILL.md': '1' });
    const { folders } = await device.folders.pass('all');
    expect(folders.map(({ state }) => state).sort()).toEqual(['failed', 'written']);
    expect(device.read('.agents/skills/greet/SKILL.md')).toBe('1');
    device.told('greet', { 'SKILL.md': '2' });
    await device.folders.pass(new Set([item.id]));
    rmSync(device.path('.claude/skills'));
    await device.folders.pass(new Set());
    expect(device.read('.claude/skills/greet/SKILL.md')).toBe('2');
  });

  it('when none can be: a change made meanwhile is kept, and the next pass writes it', async () => {
    const device = new Device(['.claude']);
    const roots = ['.claude/skills', '.agents/skills'];
    for (const root of roots) device.put(root, 'a file where the folder should be');
    const item = device.told('greet', { 'SKILL.md': '1' });
    const { folders } = await device.folders.pass(new Set([item.id]));
    expect(folders.map(({ state }) => state)).toEqual(['failed', 'failed']);
    for (const root of roots) rmSync(device.path(root));
    await device.folders.pass(new Set());
    for (const root of roots) expect(device.read(`${root}/greet/SKILL.md`)).toBe('1');
  });

  it('in part leaves the old item, stops no other one, and heals by itself', async () => {
    let full = false;
    const device = new Device([], () => {
      if (!full) return;
      full = false;
      throw Object.assign(new Error('disk full'), { code: 'ENOSPC' });
    });
    const items = [device.told('one', { 'SKILL.md': '1' }), device.told('two', { 'SKILL.md': '1' })];
    await device.folders.pass('all');
    device.told('one', { 'SKILL.md': '2' });
    device.told('two', { 'SKILL.md': '2' });
    full = true;
    await device.folders.pass(new Set(items.map(({ id }) => id)));
    const texts = () => ['one', 'two'].map((name) => device.read(`.agents/skills/${name}/SKILL.md`)).sort();
    expect(texts()).toEqual(['1', '2']);
    const failed = device.facts().filter(([, , state]) => state === 'failed');
    expect(failed).toHaveLength(1);
    await device.folders.pass('all');
    expect(texts()).toEqual(['2', '2']);
  });
});

describe('random lives of a device', () => {
  const NAMES = ['one', 'two', 'three'];
  const PATHS = ['SKILL.md', 'a', 'sub/b'];
  const FOLDERS = ['.agents/skills', '.claude/skills'];

  it.each(Array.from({ length: 25 }, (_, n) => n + 1))(
    'with seed %i end as the registry wishes, and nothing that a person wrote is ever lost',
    async (seed) => {
      const random = new Random(seed);
      const device = new Device(['.claude']);
      let serial = 0;
      const current = () => FOLDERS.map((folder) => tree(device.path(folder)));
      for (let round = 0; round < 12; round++) {
        const changed = new Set<string>();
        for (const name of NAMES) {
          if (!random.chance(0.4)) continue;
          const texts: Record<string, string> = { 'SKILL.md': `registry ${serial++}` };
          for (const path of PATHS) if (random.chance(0.5)) texts[path] = `registry ${random.below(4)}`;
          const state = random.pick<State>(['active', 'active', 'active', 'disabled', 'removed']);
          changed.add(device.told(name, texts, { state }).id);
        }
        for (let n = random.below(3); n > 0; n--) {
          const path = join(random.pick(FOLDERS), random.pick(NAMES), random.pick(PATHS));
          if (random.chance(0.3)) rmSync(device.path(path), { force: true });
          else device.put(path, `person ${serial++}`);
        }
        const persons = current().map((files) => [...files].filter(([, text]) => text.startsWith('person')));
        await device.folders.pass(random.chance(0.5) ? 'all' : changed);
        const now = current();
        for (const [index, files] of persons.entries()) {
          for (const [path, text] of files)
            expect(now[index]?.get(path), `${path} in round ${round}`).toBe(text);
        }
      }
      await device.folders.pass('all');
      const settled = current();
      const { events } = await device.folders.pass('all');
      expect(current()).toEqual(settled);
      expect(events.filter(({ action }) => action === 'wrote' || action === 'removed')).toEqual([]);
      for (const folder of FOLDERS) {
        for (const item of device.mirror.items()) {
          const held = [...device.records.facts.entries()].some(
            ([, fact]) =>
              fact.item === item.id &&
              fact.folder === device.path(folder) &&
              (fact.state === 'held_back' || fact.state === 'changed_here'),
          );
          if (held || item.state !== 'active') continue;
          const found = tree(device.path(folder, item.name));
          for (const { path, digest } of item.files) expect(sha(found.get(path) ?? '')).toBe(digest);
        }
      }
    },
  );
});
