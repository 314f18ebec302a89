import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Placement } from '../../agent/state.ts';
import { type Watcher, watchPlaced } from '../../agent/watch.ts';

let home: string;
let watcher: Watcher;
let ledger: Map<string, Placement>;
let hints: string[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'repertoire-watch-'));
  hints = [];
  ledger = new Map();
  place('skills', 'notes', ['notes/SKILL.md', 'notes/docs/deep/tone.md']);
  place('skills', 'other', ['other/SKILL.md']);
  place('agents', 'reviewer.md', ['reviewer.md']);
  place('agents', 'writer.md', ['writer.md']);
  watcher = watchPlaced({ ledger } as unknown as Parameters<typeof watchPlaced>[0], (items) => {
    hints.push(...items);
  });
  watcher.refresh();
});

afterEach(() => {
  watcher.close();
  rmSync(home, { recursive: true, force: true });
});

function place(folder: string, at: string, files: string[]): void {
  for (const file of files) put(folder, file);
  const placement = {
    folder: join(home, folder),
    at,
    item: at,
    files: Object.fromEntries(files.map((file) => [file, {}])),
  };
  ledger.set(`${folder}/${at}`, placement as unknown as Placement);
}

function put(...path: string[]): void {
  const file = join(home, ...path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'x');
}

async function hinted(...items: string[]): Promise<void> {
  await vi.waitFor(() => expect(hints).toEqual(expect.arrayContaining(items)), 60_000);
  hints.length = 0;
}

describe('what was placed', () => {
  it.each([
    ['a file of a skill', ['skills', 'notes', 'SKILL.md'], 'notes'],
    ['a file deep inside', ['skills', 'notes', 'docs', 'deep', 'tone.md'], 'notes'],
    ['a file that is new in it', ['skills', 'notes', 'docs', 'more.md'], 'notes'],
    ['a persona', ['agents', 'reviewer.md'], 'reviewer.md'],
  ])('is hinted at when a person writes %s', async (_, path, item) => {
    put(...path);
    await vi.waitFor(() => expect(hints).toContain(item), 60_000);
    expect(new Set(hints)).toEqual(new Set([item]));
  });

  it('is hinted at when it goes, and again when what took its place changes', async () => {
    renameSync(join(home, 'skills', 'notes'), join(home, 'away'));
    await hinted('notes');
    put('skills', 'notes', 'SKILL.md');
    await hinted('notes');
    watcher.refresh();
    put('skills', 'notes', 'docs', 'deep', 'tone.md');
    await hinted('notes');
    watcher.refresh();
    put('skills', 'notes', 'SKILL.md');
    await hinted('notes');
  });

  it('is hinted at when the whole client folder goes', async () => {
    renameSync(join(home, 'agents'), join(home, 'away'));
    await hinted('reviewer.md', 'writer.md');
    put('agents', 'reviewer.md');
    watcher.refresh();
    put('agents', 'reviewer.md');
    await hinted('reviewer.md');
  });
});

it('nothing else is hinted at', async () => {
  put('agents', 'mine.md');
  put('skills', 'mine', 'SKILL.md');
  ledger.delete('skills/other');
  watcher.refresh();
  put('skills', 'other', 'SKILL.md');
  // Written last, so that its hint comes with or after those of the others.
  put('agents', 'writer.md');
  await vi.waitFor(() => expect(hints).toContain('writer.md'), 60_000);
  expect(hints).toEqual(['writer.md']);
});

it('watches nothing once closed, so that a pass that ends later does not keep the process', () => {
  const watches = () => process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length;
  expect(watches()).toBeGreaterThan(0);
  watcher.close();
  const before = watches();
  watcher.refresh();
  expect(watches()).toBe(before);
});
