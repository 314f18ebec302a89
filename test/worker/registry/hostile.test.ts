import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { blobs, confirmations } from '../../../worker/db/tables/registry.ts';
import { putBlob } from '../../../worker/registry/blobs.ts';
import { changesSince } from '../../../worker/registry/changes.ts';
import { listClientsSeen, noteClient } from '../../../worker/registry/clients-seen.ts';
import type { Context } from '../../../worker/registry/context.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { getFile } from '../../../worker/registry/read.ts';
import { removeItem } from '../../../worker/registry/remove.ts';
import { renameItem } from '../../../worker/registry/rename.ts';
import { restoreItem } from '../../../worker/registry/restore.ts';
import { searchItems } from '../../../worker/registry/search.ts';
import { openTestRegistry, skillText } from './harness.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("a skill's own PERSONA.md, and a persona's SKILL.md, is never taken for the main file", async () => {
  const { ctx } = await openTestRegistry();
  const mains = { skill: 'SKILL.md', persona: 'PERSONA.md' } as const;
  for (const [kind, main, other] of [
    ['skill', mains.skill, mains.persona],
    ['persona', mains.persona, mains.skill],
  ] as const) {
    await createItem(await ctx(), {
      kind,
      files: { [main]: { text: skillText('a') }, [other]: { text: 'Something else, without front matter.' } },
    });
    const ref = { kind, name: 'a' };
    await editItem(await ctx(), ref, { description: 'Changed.' });
    await renameItem(await ctx(), ref, 'b', 2);
    const renamed = { kind, name: 'b' };
    expect(text((await getFile(await ctx(), renamed)).bytes)).toBe(skillText('b', 'Changed.', '# a\n'));
    expect(text((await getFile(await ctx(), renamed, other)).bytes)).toContain('Something else');
  }
});

test('a credential does not come in as a name either', async () => {
  const { ctx } = await openTestRegistry();
  const secret = ['glpat', 'x9d8f7g6h5j4k3l2q1w2'].join('-');
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') } } });
  await expect(renameItem(await ctx(), { name: 'a' }, secret, 1)).rejects.toMatchObject({
    code: 'credential',
  });
});

test('only what was found and may be confirmed is kept as confirmed', async () => {
  const { ctx, db } = await openTestRegistry();
  const url = `https://user:${['Zk3q9Lm2', 'Xv8Tp1'].join('')}@db.internal.corp/x`;
  const key = ['glpat', 'x9d8f7g6h5j4k3l2q1w2'].join('-');
  const write = async (instructions: string, confirm: { rule: string; match: string }[]) =>
    createItem(await ctx(), { kind: 'skill', name: 'a', description: 'A.', instructions, confirm });
  const found = await write(`${url}\n${key}`, []).catch((error) => error.details.findings);
  expect(found.map(({ level }: { level: string }) => level).sort()).toEqual(['ask', 'refuse']);
  await expect(write(`${url}\n${key}`, found)).rejects.toMatchObject({ code: 'credential' });
  await write(url, [...found, { rule: 'basicauth', match: 'x' }]);
  expect(await db.select({ rule: confirmations.rule }).from(confirmations)).toEqual([{ rule: 'basicauth' }]);
});

test('clients that give themselves ever new names leave the last 500', async () => {
  const { ctx, clock } = await openTestRegistry();
  const caller = await ctx();
  await caller.enter();
  for (let i = 0; i < 510; i++) {
    clock.now++;
    await noteClient(caller, { name: `client-${i}`, version: '1' });
  }
  const seen = await listClientsSeen(await ctx());
  expect(seen).toHaveLength(500);
  expect([seen[0]?.name, seen.at(-1)?.name]).toEqual(['client-509', 'client-10']);
});

test('a revision of another name is restored by a way that the refusal names', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('old') } } });
  await renameItem(await ctx(), { name: 'old' }, 'new', 1);
  const restore = async (expected_revision: number, revision?: number) =>
    restoreItem(await ctx(), { name: 'new' }, { expected_revision, revision });
  await expect(restore(2, 1)).rejects.toThrow('was called old; rename it to old first.');
  await removeItem(await ctx(), { name: 'new' }, 2);
  await expect(restore(2, 1)).rejects.toThrow(
    'was called old; restore new as it was, then rename it to old first.',
  );
  await restore(2);
  await renameItem(await ctx(), { name: 'new' }, 'old', 3);
  const { item } = await restoreItem(await ctx(), { name: 'old' }, { expected_revision: 4, revision: 1 });
  expect(item).toMatchObject({ name: 'old', revision: 5, state: 'active' });
});

describe('bytes sent by themselves', () => {
  const bytes = (content: string) => new TextEncoder().encode(content);
  const put = async (ctx: Context, content: string) => {
    const digest = await sha256(content);
    await putBlob(ctx, digest, bytes(content));
    return digest;
  };
  const DAY = 24 * 3_600_000;

  test('are dropped after a day, unless they were sent again or a revision names them', async () => {
    const { ctx, clock, db } = await openTestRegistry();
    const kept = await put(await ctx(), 'kept');
    const again = await put(await ctx(), 'again');
    await put(await ctx(), 'loose');
    const main = { text: skillText('a') };
    await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': main, a: { digest: kept } } });
    await put(await ctx(), 'kept');
    clock.now += DAY / 2;
    await put(await ctx(), 'again');
    clock.now += DAY / 2 + 1;
    await put(await ctx(), 'last');
    const left = await db.select({ digest: blobs.digest }).from(blobs);
    const expected = [kept, again, await sha256('last'), await sha256(main.text)];
    expect(left.map(({ digest }) => digest).sort()).toEqual(expected.sort());
    await editItem(await ctx(), { name: 'a' }, { files: { a: null } });
    clock.now += 2 * DAY;
    await put(await ctx(), 'later');
    const { item } = await restoreItem(await ctx(), { name: 'a' }, { expected_revision: 2, revision: 1 });
    expect(item.files.map(({ path }) => path)).toEqual(['SKILL.md', 'a']);
  });

  test('of more than an item holds are not even read', async () => {
    const { ctx } = await openTestRegistry();
    const digests: string[] = [];
    for (let i = 0; i < 9; i++) digests.push(await put(await ctx(), String(i).repeat(1024 * 1024)));
    const files = Object.fromEntries(digests.map((digest) => [digest.slice(0, 8), { digest }]));
    await expect(
      createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') }, ...files } }),
    ).rejects.toMatchObject({ code: 'too_large' });
  });

  test('are looked for only where an item could hold so many', async () => {
    const { ctx } = await openTestRegistry();
    const entries = Array.from({ length: 40_000 }, (_, i) => [
      `f${i}`,
      { digest: i.toString(16).padStart(64, '0') },
    ]);
    await expect(
      createItem(await ctx(), { kind: 'skill', files: Object.fromEntries(entries) }),
    ).rejects.toMatchObject({ code: 'too_large' });
  });
});

test('the index takes words of texts alone, and never half of a character', async () => {
  const { ctx, db } = await openTestRegistry();
  await createItem(await ctx(), {
    kind: 'skill',
    files: {
      'SKILL.md': { text: skillText('a') },
      'latin1.txt': { base64: btoa('zebra \xe9\xff') },
      'long.txt': { text: `${'x'.repeat(256 * 1024 - 1)}\u{1F600} lion` },
    },
  });
  const rows = await db.all<{ path: string; body: string }>(sql`select path, body from search order by path`);
  expect(rows.map(({ path, body }) => [path, body.length])).toEqual([
    ['SKILL.md', skillText('a').length],
    ['latin1.txt', 0],
    ['long.txt', 256 * 1024],
  ]);
  expect(rows.at(-1)?.body.endsWith('x\uFFFD')).toBe(true);
  expect(await searchItems(await ctx(), { query: 'zebra' })).toEqual([]);
});

test('items of many small files are spread over pages', async () => {
  const { ctx } = await openTestRegistry();
  for (let n = 0; n < 12; n++) {
    const files = Array.from({ length: 500 }, (_, i) => [`f${i}`, { text: '' }]);
    const main = { 'SKILL.md': { text: skillText(`s${n}`) } };
    await createItem(await ctx(), { kind: 'skill', files: { ...main, ...Object.fromEntries(files) } });
  }
  const page = await changesSince(await ctx(), null);
  expect(page.items).toHaveLength(10);
  expect((await changesSince(await ctx(), page.cursor)).items).toHaveLength(2);
});
