import { expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { getBlob, putBlob } from '../../../worker/registry/blobs.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { getGuidelines, setGuidelines } from '../../../worker/registry/guidelines.ts';
import { getItem, listItems } from '../../../worker/registry/read.ts';
import { openTestRegistry, skillText } from './harness.ts';

const awkward = (n: number) => `${'x'.repeat(n)}`;
/** Assembled here, so that no credential-like literal stands in the sources. */
const token = () => ['ghp', 'R4nd0mLooking7okenThatIs36CharsLong9'.padEnd(36, 'Q').slice(0, 36)].join('_');
const jwt = () =>
  [
    { alg: 'HS256', typ: 'JWT' },
    { sub: '8417205', iat: 1716239022, scope: 'all' },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat('q3Jk8vWz0pTnYhXc5LbRm2QsFd7GaE9uKi4OoPw6ZxV')
    .join('.');

test('a credential is refused with rule, file and line, and nothing is stored', async () => {
  const { ctx, client, rings } = await openTestRegistry();
  const secret = token();
  const error = await createItem(await ctx(), {
    kind: 'skill',
    files: { 'SKILL.md': { text: skillText('a') }, 'env.txt': { text: `one\nTOKEN=${secret}\n` } },
  }).catch((e) => e);
  expect(error).toMatchObject({
    code: 'credential',
    details: { findings: [{ path: 'env.txt', line: 2, level: 'refuse' }] },
  });
  expect(JSON.stringify([error.message, error.details])).not.toContain(secret);
  expect(await listItems(await ctx(), { removed: true })).toEqual([]);
  expect((await client.execute('select count(*) as n from blobs')).rows[0]?.n).toBe(0);
  expect(rings).toEqual([]);
});

test('what may be a credential passes once its owner confirms that match, and later edits too', async () => {
  const { ctx } = await openTestRegistry();
  const files = { 'SKILL.md': { text: skillText('a', 'Sample', `Send ${jwt()} as an example.\n`) } };
  const error = await createItem(await ctx(), { kind: 'skill', files }).catch((e) => e);
  expect(error).toMatchObject({ code: 'confirmation_required' });
  const confirm = error.details.findings.map(({ rule, match }: { rule: string; match: string }) => ({
    rule,
    match,
  }));
  await expect(
    createItem(await ctx(['skills:read', 'skills:write']), { kind: 'skill', files, confirm }),
  ).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  await createItem(await ctx(), { kind: 'skill', files, confirm });
  const { item } = await editItem(
    await ctx(['skills:read', 'skills:write']),
    { name: 'a' },
    { description: 'Other' },
  );
  expect(item.revision).toBe(2);
});

test('files are committed by digest after their bytes were sent, per account', async () => {
  const { ctx, stranger } = await openTestRegistry();
  const bytes = new Uint8Array([0, 1, 2, 255]);
  const digest = await sha256(bytes);
  await expect(putBlob(await ctx(), 'f'.repeat(64), bytes)).rejects.toMatchObject({ code: 'invalid_input' });
  await putBlob(await ctx(), digest, bytes);
  await expect(getBlob(await stranger(), digest)).rejects.toMatchObject({ code: 'not_found' });
  const files = { 'SKILL.md': { text: skillText('a') }, 'data.bin': { digest } };
  await expect(createItem(await stranger(), { kind: 'skill', files })).rejects.toMatchObject({
    code: 'invalid_input',
  });
  const { item } = await createItem(await ctx(), { kind: 'skill', files });
  expect(item.files.find((file) => file.path === 'data.bin')).toMatchObject({ digest, size: 4 });
  expect([...new Uint8Array(await getBlob(await ctx(), digest))]).toEqual([...bytes]);
});

test('bytes committed by digest are looked through for credentials like any others', async () => {
  const { ctx } = await openTestRegistry();
  const bytes = new TextEncoder().encode(`TOKEN=${token()}`);
  const digest = await sha256(bytes);
  await putBlob(await ctx(), digest, bytes);
  await expect(
    createItem(await ctx(), {
      kind: 'skill',
      files: { 'SKILL.md': { text: skillText('a') }, x: { digest } },
    }),
  ).rejects.toMatchObject({ code: 'credential' });
});

test.each([
  [
    'a file over 1 MiB',
    { 'SKILL.md': { text: skillText('a') }, big: { text: awkward(1024 * 1024 + 1) } },
    'too_large',
  ],
  [
    'over 512 files',
    Object.fromEntries([
      ['SKILL.md', { text: skillText('a') }],
      ...Array.from({ length: 512 }, (_, i) => [`f${i}`, { text: '' }]),
    ]),
    'too_large',
  ],
  [
    'over 8 MiB',
    Object.fromEntries([
      ['SKILL.md', { text: skillText('a') }],
      ...Array.from({ length: 9 }, (_, i) => [`f${i}`, { text: awkward(1000_000) }]),
    ]),
    'too_large',
  ],
  ['no main file', { 'readme.md': { text: 'x' } }, 'invalid_input'],
  ['a path that climbs', { 'SKILL.md': { text: skillText('a') }, '../x': { text: '' } }, 'invalid_path'],
  [
    'names equal but for case',
    { 'SKILL.md': { text: skillText('a') }, 'a.md': { text: '' }, 'A.md': { text: '' } },
    'path_collision',
  ],
  [
    'an alias bomb',
    { 'SKILL.md': { text: '---\nname: a\nx: &x [1]\ny: [*x,*x]\n---\n' } },
    'invalid_front_matter',
  ],
  ['no valid name', { 'SKILL.md': { text: 'no front matter' } }, 'invalid_name'],
])('%s is refused, and nothing is stored', async (_, files, code) => {
  const { ctx } = await openTestRegistry();
  await expect(createItem(await ctx(), { kind: 'skill', files })).rejects.toMatchObject({ code });
  expect(await listItems(await ctx(), { removed: true })).toEqual([]);
});

test('a main file in another case is taken under the name that clients read, flagged', async () => {
  const { ctx } = await openTestRegistry();
  const { item } = await createItem(await ctx(), {
    kind: 'skill',
    files: { 'skill.md': { text: skillText('a') } },
  });
  expect(item.files.map((file) => file.path)).toEqual(['SKILL.md']);
  expect(item.flags.map((flag) => flag.code)).toContain('main-file-case');
});

test('an odd description is kept and read back whole', async () => {
  const { ctx } = await openTestRegistry();
  for (const [name, description] of [
    ['emoji', '👩‍👩‍👧 \u202E right to left'],
    ['long', 'x'.repeat(5732)],
  ] as const) {
    const { item } = await createItem(await ctx(), { kind: 'skill', name, description, instructions: 'x\n' });
    expect((await getItem(await ctx(), { name })).description).toBe(item.description);
  }
});

test('a NUL that YAML writes as an escape does not cut the description short', async () => {
  const { ctx } = await openTestRegistry();
  const text = '---\nname: nulls\ndescription: "a\\0b"\n---\n';
  const { item } = await createItem(await ctx(), { kind: 'skill', files: { 'SKILL.md': { text } } });
  expect(item.description).toBe('a\uFFFDb');
  expect((await getItem(await ctx(), { name: 'nulls' })).description).toBe('a\uFFFDb');
});

test('guidelines are limited, checked for credentials and refused to readers', async () => {
  const { ctx } = await openTestRegistry();
  await expect(setGuidelines(await ctx(), { text: 'x'.repeat(8001) })).rejects.toMatchObject({
    code: 'too_large',
  });
  await expect(setGuidelines(await ctx(), { text: token() })).rejects.toMatchObject({ code: 'credential' });
  await expect(setGuidelines(await ctx(['skills:read']), { text: 'x' })).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  await setGuidelines(await ctx(), { text: 'Be brief.' });
  expect((await getGuidelines(await ctx())).text).toBe('Be brief.');
});
