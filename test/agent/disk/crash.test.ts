import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRoot } from '../../../agent/disk/containment.ts';
import { removeFolder } from '../../../agent/disk/place-folder.ts';
import { recover } from '../../../agent/disk/recover.ts';
import type { Job } from './child.ts';
import { digest, freshHome, left, put, trashed, tree } from './fixture.ts';

const source = fileURLToPath(new URL('child.ts', import.meta.url));
let bundle: string;
beforeAll(() => {
  bundle = join(mkdtempSync(join(tmpdir(), 'repertoire-child-')), 'child.mjs');
  buildSync({
    entryPoints: [source],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: bundle,
    logLevel: 'error',
  });
});
afterAll(() => rmSync(dirname(bundle), { recursive: true }));

const path = 'alpha/SKILL.md';
const content = { 'SKILL.md': 'main', 'refs/a.md': 'a', 'run.sh': 'c' };
const files = Object.entries(content).map(([path, text]) => ({ path, text, digest: digest(text) }));
const whole = Object.fromEntries(Object.entries(content).map(([path, text]) => [`alpha/${path}`, text]));
const copy = `${path}.conflict-${digest('edit').slice(0, 8)}`;

function run(
  job: Partial<Job> & Pick<Job, 'skills' | 'act'>,
): Promise<{ killed: boolean; outcome: unknown }> {
  const whole: Job = { killAt: 0, base: digest('old'), files, ...job };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [bundle, JSON.stringify(whole)], (error, stdout) => {
      if (error && error.signal !== 'SIGKILL') reject(error);
      else resolve({ killed: error !== null, outcome: error ? null : JSON.parse(stdout) });
    });
  });
}

interface Case {
  name: string;
  before: Record<string, string>;
  job: Partial<Job> & Pick<Job, 'act'>;
  /** Every state in which the folder may be after a crash and the recovery; the last is that without a crash. */
  allowed: Record<string, string>[];
}

const cases: Case[] = [
  {
    name: 'an update',
    before: { [path]: 'old' },
    job: { act: 'update' },
    allowed: [{ [path]: 'old' }, { [path]: 'new' }],
  },
  {
    name: 'an update without hard links',
    before: { [path]: 'old' },
    job: { act: 'update', hardLinks: false },
    allowed: [{ [path]: 'old' }, { [path]: 'new' }],
  },
  {
    name: 'an update that races with an edit',
    before: { [path]: 'old' },
    job: { act: 'update', edit: 'edit' },
    allowed: [{ [path]: 'old' }, { [path]: 'edit' }, { [path]: 'new', [copy]: 'edit' }],
  },
  {
    name: 'a new file',
    before: { 'alpha/mine': 'mine' },
    job: { act: 'create', base: null },
    allowed: [{ 'alpha/mine': 'mine' }, { 'alpha/mine': 'mine', [path]: 'new' }],
  },
  {
    name: 'a removal',
    before: { [path]: 'old' },
    job: { act: 'remove' },
    allowed: [{ [path]: 'old' }, { alpha: '(empty)' }],
  },
  {
    name: 'a removal that races with an edit',
    before: { [path]: 'old' },
    job: { act: 'remove', edit: 'edit' },
    allowed: [{ [path]: 'old' }, { [path]: 'edit' }],
  },
  { name: 'a new folder', before: {}, job: { act: 'place' }, allowed: [{}, whole] },
];

describe('kill -9 at every step', () => {
  test.each(cases)(
    'of $name: old or new, nothing partial, nothing left over',
    async ({ before, job, allowed }) => {
      for (let killAt = 1; ; killAt++) {
        const { home, skills } = freshHome(before);
        const { killed } = await run({ ...job, skills, killAt });
        const root = openRoot(skills);
        await recover(root);
        const after = tree(skills);
        expect(allowed, `killed at step ${killAt}`).toContainEqual(after);
        expect(left(root, 'staging')).toEqual([]);
        expect(readdirSync(home).every((name) => name === 'skills' || join(home, name) === root.store)).toBe(
          true,
        );
        for (const text of Object.values(before)) {
          expect([...Object.values(after), ...trashed(root), job.edit && 'old']).toContain(text);
        }
        if (!killed) {
          expect(after).toEqual(allowed.at(-1));
          expect(killAt).toBeGreaterThan(3);
          return;
        }
      }
    },
  );

  test('of removing a folder: the rest goes with the next pass', async () => {
    for (let killAt = 1, killed = true; killed; killAt += 3) {
      const { skills } = freshHome(whole);
      ({ killed } = await run({ act: 'remove-folder', skills, killAt }));
      const root = openRoot(skills);
      await recover(root);
      expect(Object.entries(whole)).toEqual(
        expect.arrayContaining(Object.entries(tree(skills)).filter(([, text]) => text !== '(empty)')),
      );
      await removeFolder(root, 'alpha', files);
      expect(tree(skills)).toEqual({});
      expect(left(root, 'staging')).toEqual([]);
      expect(trashed(root).sort()).toEqual(['a', 'c', 'main']);
    }
  });

  test.each([
    { step: 7, edit: undefined },
    { step: 8, edit: 'edit' },
  ])('of the recovery from a crash at step $step (edit: $edit)', async ({ step, edit }) => {
    for (let killAt = 1, killed = true; killed; killAt++) {
      const { skills } = freshHome({ [path]: 'old' });
      await run({ act: 'update', skills, killAt: step, ...(edit === undefined ? {} : { edit }) });
      ({ killed } = await run({ act: 'recover', skills, killAt }));
      const root = openRoot(skills);
      await recover(root);
      expect([
        { [path]: edit ?? 'old' },
        { [path]: 'new' },
        { [path]: 'new', [copy]: 'edit' },
      ]).toContainEqual(tree(skills));
      if (edit !== undefined) expect(Object.values(tree(skills))).toContain(edit);
      expect(left(root, 'staging')).toEqual([]);
    }
  });
});

test('half a copy, left where there are no hard links, gives way to the old file', async () => {
  const { skills } = freshHome({ [path]: 'old' });
  await run({ act: 'update', skills, killAt: 7, hardLinks: false });
  const root = openRoot(skills);
  const [id] = left(root, 'staging');
  expect(existsSync(join(skills, path))).toBe(false);
  put(skills, { [path]: 'ne' });
  writeFileSync(join(root.store, 'staging', id as string, 'copying'), '');
  await recover(root);
  expect(tree(skills)).toEqual({ [path]: 'old' });
  expect(left(root, 'staging')).toEqual([]);
});

test('an operation whose intent cannot be read is never a reason to delete what was moved aside', async () => {
  const { skills } = freshHome({ [path]: 'old' });
  await run({ act: 'update', skills, killAt: 7 });
  const root = openRoot(skills);
  const [id] = left(root, 'staging');
  writeFileSync(join(root.store, 'staging', id as string, 'intent.json'), '');
  await recover(root);
  expect(tree(join(root.store, 'kept', id as string))).toMatchObject({ old: 'old' });
});

test('a folder that may not be written is reported, and its file stays', async () => {
  const { home, skills } = freshHome({ [path]: 'old' });
  chmodSync(home, 0o777);
  chmodSync(join(skills, 'alpha'), 0o555);
  const { outcome } = await run({ act: 'update', skills, unprivileged: true });
  expect(outcome).toMatchObject({
    done: 'failed',
    code: 'EACCES',
    message: expect.stringContaining('denies access'),
  });
  expect(tree(skills)).toEqual({ [path]: 'old' });
  expect(left(openRoot(skills), 'staging')).toEqual([]);
  chmodSync(join(skills, 'alpha'), 0o755);
});
