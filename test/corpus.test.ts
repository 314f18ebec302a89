import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTokenFile } from '../agent/cli/session.ts';
import { Registry } from '../agent/registry.ts';
import type { Item, ItemSummary, Kind } from '../schema/item.ts';
import { type Computer, ROOT, Setting } from './agent/cli/harness.ts';

const CORPUS = join(ROOT, '../shared/corpus');
const present = existsSync(CORPUS);
if (!present) console.warn(`${CORPUS} is absent, so the corpus tests are skipped.`);

const LONG = 600_000;

interface Found {
  kind: Kind;
  /** Where it lies in the corpus. */
  path: string;
  /** Bytes by path within the item. */
  files: Map<string, Buffer>;
}

interface Added {
  path: string;
  outcome: string;
  kind: Kind;
  name: string;
  flags: { code: string; message: string }[];
  reason?: string;
}

/** Read by other means than those under test: a skill is where SKILL.md is, a persona each agents/*.md. */
function readCorpus(): Found[] {
  const paths = readdirSync(CORPUS, { recursive: true, encoding: 'utf8' }).sort();
  const skills = paths.filter((path) => basename(path) === 'SKILL.md').map(dirname);
  const personas = paths.filter((path) => basename(dirname(path)) === 'agents' && path.endsWith('.md'));
  return [
    ...skills.map((path) => ({ kind: 'skill' as const, path, files: readTree(join(CORPUS, path)) })),
    ...personas.map((path) => ({
      kind: 'persona' as const,
      path,
      files: new Map([['PERSONA.md', readFileSync(join(CORPUS, path))]]),
    })),
  ];
}

function readTree(folder: string): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const full = join(entry.parentPath, entry.name);
    files.set(relative(folder, full).replaceAll('\\', '/'), readFileSync(full));
  }
  return files;
}

function digests(files: Map<string, Buffer>): Record<string, string> {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([path, bytes]) => [path, createHash('sha256').update(bytes).digest('hex')]),
  );
}

describe.skipIf(!present)('the corpus, through the command', () => {
  const setting = new Setting();
  let corpus: Found[];
  let added: Added[];
  let first: Computer;
  let registry: Registry;

  beforeAll(async () => {
    corpus = readCorpus();
    await setting.startRegistry();
    first = await setting.paired('first');
    const { token } = readTokenFile(setting.ownerFile);
    registry = new Registry({ url: setting.url, credentials: { type: 'bearer', token } });
    const { results } = await first.json<{ results: Added[] }>(['add', CORPUS]);
    added = results;
  }, LONG);

  afterAll(() => setting.end(), LONG);

  const at = (found: Found) =>
    added.find(({ path }) => path.endsWith(`/${found.path.replaceAll('\\', '/')}`));
  const read = (found: Found) => digests(found.files);

  test('zero dropped: 238 skills and 199 personas, flags reported', async () => {
    expect(corpus.filter(({ kind }) => kind === 'skill')).toHaveLength(238);
    expect(corpus.filter(({ kind }) => kind === 'persona')).toHaveLength(199);
    expect(added.filter(({ outcome }) => outcome !== 'added')).toEqual([]);
    expect(added).toHaveLength(corpus.length);
    const { items } = await registry.list();
    expect(items).toHaveLength(corpus.length);
    const flags = new Map<string, number>();
    for (const { code } of added.flatMap((each) => each.flags)) flags.set(code, (flags.get(code) ?? 0) + 1);
    expect(Object.fromEntries(flags)).toMatchObject({ 'name-differs': 96 });
    const listed = (each: { kind: Kind; name: string; flags: { code: string }[] }) =>
      `${each.kind} ${each.name}: ${each.flags.map(({ code }) => code).join(' ')}`;
    expect(items.map(listed).sort()).toEqual(added.map(listed).sort());
  });

  test(
    'every byte equal in the registry, by digest and as the API serves it',
    async () => {
      const contents = new Map<string, string>();
      for (const found of corpus) {
        const { kind, name } = at(found) as Added;
        const item: Item = await registry.item({ kind, name });
        expect(Object.fromEntries(item.files.map(({ path, digest }) => [path, digest]))).toEqual(read(found));
        for (const { digest } of item.files) {
          if (contents.has(digest)) continue;
          const bytes = await registry.blob(digest);
          contents.set(digest, createHash('sha256').update(bytes).digest('hex'));
        }
      }
      for (const [digest, served] of contents) expect(served).toBe(digest);
    },
    LONG,
  );

  test(
    'every byte equal on the disk of a second device',
    async () => {
      const second = await setting.paired('second');
      expect((await second.run(['run', '--once'])).stdout).toBe('Synced 3 folders: 437 written.\n');
      for (const folder of ['.claude/skills', '.agents/skills']) {
        expect(readdirSync(join(second.home, folder))).toHaveLength(238);
        for (const found of corpus.filter(({ kind }) => kind === 'skill')) {
          const { name } = at(found) as Added;
          expect(digests(readTree(join(second.home, folder, name)))).toEqual(read(found));
        }
      }
      for (const found of corpus.filter(({ kind }) => kind === 'persona')) {
        const { name } = at(found) as Added;
        const file = readFileSync(join(second.home, '.claude/agents', `${name}.md`));
        expect(file.equals(found.files.get('PERSONA.md') as Buffer)).toBe(true);
      }
    },
    LONG,
  );

  test(
    'adding it all again changes nothing',
    async () => {
      const { code, stdout } = await first.run(['add', CORPUS]);
      expect([code, stdout]).toEqual([0, 'Nothing added, 437 already there, unchanged.\n']);
    },
    LONG,
  );
});

describe.skipIf(!present)('a person whose skills already lie in ~/.claude/skills', () => {
  const setting = new Setting();

  beforeAll(() => setting.startRegistry(), LONG);
  afterAll(() => setting.end(), LONG);

  test(
    'adds them from there and ends with the same files, adopted, nothing held back',
    async () => {
      const computer = await setting.paired('mine');
      const folder = join(computer.home, '.claude/skills');
      const source = join(CORPUS, 'superpowers/skills');
      mkdirSync(folder, { recursive: true });
      cpSync(source, folder, { recursive: true });
      const before = readTree(folder);
      const stamps = () =>
        [...before.keys()].map((path) => [
          path,
          statSync(join(folder, path)).mtimeMs,
          statSync(join(folder, path)).ino,
        ]);
      const stamped = stamps();

      const { results } = await computer.json<{ results: Added[] }>(['add', folder]);
      expect(results.map(({ outcome }) => outcome)).toEqual(results.map(() => 'added'));
      expect(results).toHaveLength(readdirSync(source).length);
      const synced = await computer.json<{ result: { events: { action: string }[] } }>(['run', '--once']);
      expect(new Set(synced.result.events.map(({ action }) => action))).toEqual(
        new Set(['adopted', 'wrote']),
      );

      expect(digests(readTree(folder))).toEqual(digests(before));
      expect(stamps()).toEqual(stamped);
      const { folders } = await computer.json<{
        folders: { path: string; wanted: number; on_disk: number; exceptions: unknown[] }[];
      }>(['status']);
      for (const each of folders)
        expect([each.path, each.on_disk, each.exceptions]).toEqual([each.path, each.wanted, []]);
      const { devices } = await computer.json<{
        devices: { folders: { path: string; counts: object }[]; exceptions: unknown[] }[];
      }>(['devices']);
      expect(devices[0]?.exceptions).toEqual([]);
      expect(devices[0]?.folders.find(({ path }) => path === folder)?.counts).toEqual({
        adopted: results.length,
      });
      const { items } = await computer.json<{ items: ItemSummary[] }>(['list']);
      expect(items.map(({ name }) => name).sort()).toEqual(readdirSync(source).sort());
    },
    LONG,
  );
});
