import { expect, test } from 'vitest';
import { confirmations } from '../../../worker/db/tables.ts';
import { listClientsSeen, noteClient } from '../../../worker/registry/clients-seen.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { getFile } from '../../../worker/registry/read.ts';
import { renameItem } from '../../../worker/registry/rename.ts';
import { restoreItem } from '../../../worker/registry/restore.ts';
import { removeItem } from '../../../worker/registry/state.ts';
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
