import { expect, test } from 'vitest';
import { changesSince } from '../../../worker/registry/changes.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { itemHistory } from '../../../worker/registry/history.ts';
import { getFile, getItem, listItems } from '../../../worker/registry/read.ts';
import { removeItem } from '../../../worker/registry/remove.ts';
import { renameItem } from '../../../worker/registry/rename.ts';
import { restoreItem } from '../../../worker/registry/restore.ts';
import { searchItems } from '../../../worker/registry/search.ts';
import { openTestRegistry, skillText } from './harness.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test('an item is created from name, description and instructions, and read back byte for byte', async () => {
  const { ctx, rings } = await openTestRegistry();
  const { item, cursor } = await createItem(await ctx(), {
    kind: 'skill',
    name: 'deploy',
    description: 'Ships: "it"',
    instructions: 'Do it.\n',
  });
  expect(item).toMatchObject({
    name: 'deploy',
    description: 'Ships: "it"',
    revision: 1,
    state: 'active',
    flags: [],
  });
  const { bytes } = await getFile(await ctx(), { kind: 'skill', name: 'deploy' });
  expect(text(bytes)).toContain('Do it.');
  expect(rings).toMatchObject([{ cursor }]);
});

test('files are kept as written, and an omitted executable bit is inherited', async () => {
  const { ctx } = await openTestRegistry();
  const crlf = skillText('tools').replaceAll('\n', '\r\n');
  await createItem(await ctx(), {
    kind: 'skill',
    files: {
      'SKILL.md': { text: `\uFEFF${crlf}` },
      'run.sh': { text: '#!/bin/sh\n', executable: true },
      'logo.png': { base64: 'iVBORwAA' },
    },
  });
  const main = await getFile(await ctx(), { name: 'tools' });
  expect(text(main.bytes).startsWith('---')).toBe(true);
  expect(Buffer.from(main.bytes).toString('utf8')).toBe(`\uFEFF${crlf}`);
  // Files that came without a folder's name have nothing that theirs could differ from.
  expect(main.item.flags.map((flag) => flag.code)).toEqual(['byte-order-mark']);
  const { item } = await editItem(
    await ctx(),
    { name: 'tools' },
    { files: { 'run.sh': { text: '#!/bin/bash\n' } } },
  );
  expect(item.files.find((file) => file.path === 'run.sh')?.executable).toBe(true);
  expect(item.files.map((file) => file.path)).toEqual(['SKILL.md', 'logo.png', 'run.sh']);
});

test('an edit of the description changes only that span', async () => {
  const { ctx } = await openTestRegistry();
  const source = '---\nname: a\ndescription: old # why\nextra: [1, 2]\n---\nbody\n';
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: source } } });
  await editItem(await ctx(), { name: 'a' }, { description: 'new' });
  const { bytes } = await getFile(await ctx(), { name: 'a' });
  expect(text(bytes).replace(/description: .*/, '')).toBe(source.replace(/description: .*/, ''));
  expect((await getItem(await ctx(), { name: 'a' })).description).toBe('new');
});

test('a stale write is refused with the current revision and what differs', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') } } });
  await editItem(await ctx(), { name: 'a' }, { expected_revision: 1, files: { 'x.md': { text: 'x' } } });
  await expect(
    editItem(await ctx(), { name: 'a' }, { expected_revision: 1, description: 'mine' }),
  ).rejects.toMatchObject({ code: 'conflict', details: { current_revision: 2, differs: ['x.md'] } });
});

test('two writers at once: one parent per revision, no update lost', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') } } });
  const writers = await Promise.all(Array.from({ length: 8 }, () => ctx()));
  await Promise.all(
    writers.map((writer, i) =>
      editItem(writer, { name: 'a' }, { files: { [`f${i}.md`]: { text: `${i}` } } }),
    ),
  );
  const { item, revisions } = await itemHistory(await ctx(), { name: 'a' });
  expect(item.revision).toBe(9);
  expect(revisions.map((r) => [r.revision, r.parent])).toEqual(
    [9, 8, 7, 6, 5, 4, 3, 2, 1].map((n) => [n, n === 1 ? null : n - 1]),
  );
  expect((await getItem(await ctx(), { name: 'a' })).files).toHaveLength(9);
});

test('a removed item stays in history and comes back as a new revision', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), {
    kind: 'persona',
    name: 'critic',
    description: 'Judges.',
    instructions: 'Judge.\n',
  });
  await removeItem(await ctx(), { name: 'critic' }, 1);
  expect(await listItems(await ctx(), {})).toEqual([]);
  const { item } = await restoreItem(await ctx(), { name: 'critic' }, { expected_revision: 1 });
  expect(item).toMatchObject({ revision: 2, state: 'active' });
  const { changes, revisions } = await itemHistory(await ctx(), { name: 'critic' });
  expect(changes.map((change) => change.type)).toEqual(['restored', 'removed', 'created']);
  expect(revisions).toHaveLength(2);
});

test('an older revision is restored on top, never instead', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a', 'first') } } });
  await editItem(await ctx(), { name: 'a' }, { description: 'second' });
  const { item } = await restoreItem(await ctx(), { name: 'a' }, { expected_revision: 2, revision: 1 });
  expect(item).toMatchObject({ revision: 3, description: 'first' });
});

test('a name that a removed item holds can be used again, and its history goes on', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a', 'first') } } });
  await removeItem(await ctx(), { name: 'a' }, 1);
  const { item } = await createItem(await ctx(), {
    kind: 'skill',
    files: { 'SKILL.md': { text: skillText('a', 'other') } },
  });
  expect(item.revision).toBe(2);
  expect((await itemHistory(await ctx(), { name: 'a' })).revisions).toHaveLength(2);
});

test('renaming keeps the history and changes the front matter; writing another name is refused', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') } } });
  await expect(
    editItem(await ctx(), { name: 'a' }, { files: { 'SKILL.md': { text: skillText('b') } } }),
  ).rejects.toMatchObject({ code: 'name_change' });
  const { item } = await renameItem(await ctx(), { name: 'a' }, 'b', 1);
  expect(item).toMatchObject({ name: 'b', revision: 2 });
  expect(text((await getFile(await ctx(), { name: 'b' })).bytes)).toBe(skillText('b', 'Does a.', '# a\n'));
  await expect(getItem(await ctx(), { name: 'a' })).rejects.toMatchObject({ code: 'not_found' });
});

test('a name that is both a skill and a persona is refused until the kind is given', async () => {
  const { ctx } = await openTestRegistry();
  for (const kind of ['skill', 'persona'] as const) {
    await createItem(await ctx(), { kind, name: 'twin', description: kind, instructions: 'x\n' });
  }
  await expect(getItem(await ctx(), { name: 'twin' })).rejects.toMatchObject({ code: 'ambiguous_name' });
  expect((await getItem(await ctx(), { kind: 'persona', name: 'twin' })).description).toBe('persona');
});

test('search takes the words literally and follows edits, states and removal', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), {
    kind: 'skill',
    files: {
      'SKILL.md': { text: skillText('pdf-forms', 'Fill forms') },
      'ref/api.md': { text: 'The zebra crossing.' },
    },
  });
  const find = async (query: string) =>
    (await searchItems(await ctx(), { query })).map((hit) => `${hit.name} ${hit.path}`);
  expect(await find('zebra')).toEqual(['pdf-forms ref/api.md']);
  const passage = async (query: string) => (await searchItems(await ctx(), { query }))[0]?.passage;
  expect(await passage('zebra')).toBe('The zebra crossing.');
  expect(await passage('fill')).toMatch(/^---\nname: pdf-forms\ndescription: "Fill forms"/);
  expect(await find('form')).toEqual(['pdf-forms SKILL.md']);
  expect(await find('zebra" OR item:"x')).toEqual([]);
  await editItem(await ctx(), { name: 'pdf-forms' }, { files: { 'ref/api.md': { text: 'A lion.' } } });
  expect(await find('zebra')).toEqual([]);
  expect(await find('lion')).toEqual(['pdf-forms ref/api.md']);
  await editItem(await ctx(), { name: 'pdf-forms' }, { expected_revision: 2, state: 'disabled' });
  expect(await find('lion')).toEqual(['pdf-forms ref/api.md']);
  await removeItem(await ctx(), { name: 'pdf-forms' }, 2);
  expect(await find('lion')).toEqual([]);
  await restoreItem(await ctx(), { name: 'pdf-forms' }, { expected_revision: 2 });
  expect(await find('lion')).toEqual(['pdf-forms ref/api.md']);
});

test('search sees only its own account', async () => {
  const { ctx, stranger } = await openTestRegistry();
  await createItem(await ctx(), {
    kind: 'skill',
    files: { 'SKILL.md': { text: skillText('mine', 'zebra') } },
  });
  expect(await searchItems(await stranger(), { query: 'zebra' })).toEqual([]);
  await expect(getItem(await stranger(), { name: 'mine' })).rejects.toMatchObject({ code: 'not_found' });
});

test('every write is refused to a caller that may only read', async () => {
  const { ctx } = await openTestRegistry();
  await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText('a') } } });
  const reader = () => ctx(['skills:read']);
  const refused = { code: 'insufficient_scope', details: { scopes: ['skills:write'] } };
  const ref = { name: 'a' };
  await expect(
    createItem(await reader(), { kind: 'skill', name: 'b', description: 'b', instructions: 'b' }),
  ).rejects.toMatchObject(refused);
  await expect(editItem(await reader(), ref, { description: 'b' })).rejects.toMatchObject(refused);
  await expect(editItem(await reader(), ref, { state: 'disabled' })).rejects.toMatchObject(refused);
  await expect(removeItem(await reader(), ref, 1)).rejects.toMatchObject(refused);
  await expect(restoreItem(await reader(), ref, { expected_revision: 1 })).rejects.toMatchObject(refused);
  await expect(renameItem(await reader(), ref, 'b', 1)).rejects.toMatchObject(refused);
});

test('the feed gives each changed item once, tombstones included, and follows to the head', async () => {
  const { ctx } = await openTestRegistry();
  for (const name of ['a', 'b', 'c']) {
    await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text: skillText(name) } } });
  }
  const first = await changesSince(await ctx(), null);
  expect(first).toMatchObject({ start_over: true, more: false });
  expect(first.items.map((item) => item.name)).toEqual(['a', 'b', 'c']);
  expect(first.items[0]?.files[0]?.text).toBe(skillText('a'));
  await editItem(await ctx(), { name: 'a' }, { description: 'newer' });
  await removeItem(await ctx(), { name: 'b' }, 1);
  const next = await changesSince(await ctx(), first.cursor);
  expect(next.items.map((item) => [item.name, item.state])).toEqual([
    ['a', 'active'],
    ['b', 'removed'],
  ]);
  expect(next.items[1]?.files).toEqual([]);
  expect((await changesSince(await ctx(), next.cursor)).items).toEqual([]);
});

test('the feed pages by size and never loses an item', async () => {
  const { ctx } = await openTestRegistry();
  const names = Array.from({ length: 40 }, (_, i) => `skill-${i}`);
  for (const name of names) {
    await createItem(await ctx(), {
      kind: 'skill',
      files: { 'SKILL.md': { text: skillText(name) }, 'a.txt': { text: '\u0001'.repeat(60_000) } },
    });
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let pages = 0; ; pages++) {
    const page = await changesSince(await ctx(), cursor);
    expect(JSON.stringify(page).length).toBeLessThan(2 * 1024 * 1024 + 1000);
    seen.push(...page.items.map((item) => item.name));
    cursor = page.cursor;
    if (!page.more) break;
    expect(pages).toBeLessThan(100);
  }
  expect(seen).toEqual(names);
});

test('a cursor of another life or from the future is told apart', async () => {
  const { ctx } = await openTestRegistry();
  await expect(changesSince(await ctx(), 'other:0')).rejects.toMatchObject({ code: 'registry_rewound' });
  const { cursor } = await changesSince(await ctx(), null);
  await expect(changesSince(await ctx(), `${cursor.split(':')[0]}:9`)).rejects.toMatchObject({
    code: 'registry_rewound',
  });
});
