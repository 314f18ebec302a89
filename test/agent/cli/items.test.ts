import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ItemHistory } from '../../../schema/api.ts';
import type { Item, ItemSummary } from '../../../schema/item.ts';
import { type Computer, Setting, skill } from './harness.ts';

const setting = new Setting();
let computer: Computer;

beforeAll(async () => {
  await setting.startRegistry();
  computer = await setting.paired('laptop');
  computer.write({
    'set/review/SKILL.md': skill('review', 'Use before merging.', 'Look at every line.\n'),
    'set/review/notes.bin': Buffer.from([0, 1, 2, 255]),
    'set/both/SKILL.md': skill('both'),
    'set/agents/both.md': skill('both', 'A persona.'),
    'set/plain/SKILL.md': skill('plain'),
  });
  await computer.run(['add', 'set']);
});

afterAll(() => setting.end());

const show = (name: string, ...more: string[]) => computer.json<Item>(['show', name, ...more]);

test('list and search: plain lines for people, stable JSON for programs', async () => {
  const list = await computer.run(['list']);
  expect(list.stdout).toBe(
    [
      'Name    Kind     Description',
      'both    skill    Use for both.',
      'plain   skill    Use for plain.',
      'review  skill    Use before merging.',
      'both    persona  A persona.',
      '',
    ].join('\n'),
  );
  const { items } = await computer.json<{ items: ItemSummary[] }>(['list', '--kind', 'persona']);
  expect(items.map(({ name }) => name)).toEqual(['both']);
  const search = await computer.run(['search', 'every', 'line']);
  expect(search.stdout).toContain('review  skill\n  SKILL.md: ');
  expect((await computer.run(['list', '--search', 'every line'])).stdout).toBe(search.stdout);
  expect(await computer.run(['search', 'zebra'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'Nothing holds "zebra".\n',
  });
});

test('show gives a file byte for byte on stdout and what it says about it on stderr', async () => {
  const main = await computer.run(['show', 'review']);
  expect(main.stdout).toBe(skill('review', 'Use before merging.', 'Look at every line.\n'));
  expect(main.stderr).toMatch(/^skill review, active, revision 1 of .*, with 1 more file \(--files\)$/m);
  const binary = await computer.json<{ base64: string }>(['show', 'review', 'notes.bin']);
  expect(Buffer.from(binary.base64, 'base64')).toEqual(Buffer.from([0, 1, 2, 255]));
  expect((await computer.run(['show', 'review', '--files'])).stdout).toMatch(
    /4 B {2}- +[0-9a-f]{12} {2}notes\.bin/,
  );
  expect(await computer.run(['show', 'review', 'gone.md'])).toMatchObject({ code: 1, stdout: '' });
  expect((await computer.run(['show', 'nothing'])).stderr).toBe(
    'There is no skill or persona named nothing; "repertoire list" shows what there is.\n',
  );
});

test('a name of both kinds is refused until --kind says which', async () => {
  const refused = await computer.run(['show', 'both']);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'both is both a skill and a persona; say which with --kind.\n',
  ]);
  expect(await show('both', '--kind', 'persona')).toMatchObject({
    kind: 'persona',
    description: 'A persona.',
  });
});

test('edit by flags changes what they say and nothing else', async () => {
  const { item } = await computer.json<{ item: Item }>(['edit', 'review', '--description', 'Use always.']);
  expect(item.revision).toBe(2);
  expect((await computer.run(['show', 'review'])).stdout).toBe(
    skill('review', '"Use always."', 'Look at every line.\n'),
  );

  const body = await computer.run(['edit', 'review', '--instructions', '-'], { input: 'Only this.\n' });
  expect(body.stdout).toBe('skill review: edited, now revision 3.\n');
  computer.write({ 'new.md': 'new\n' });
  await computer.run(['edit', 'review', '--file', 'docs/new.md=new.md', '--delete-file', 'notes.bin']);
  expect((await show('review')).files.map(({ path }) => path)).toEqual(['SKILL.md', 'docs/new.md']);
  expect((await computer.run(['edit', 'review', '--file', 'docs/new.md=new.md'])).stdout).toBe(
    'skill review: already so, unchanged.\n',
  );
  expect((await computer.run(['edit', 'review', '--file', 'docs/new.md'])).code).toBe(2);
  expect((await computer.run(['edit', 'review'])).code).toBe(2);
});

test('edit in the editor; a conflict keeps the text and says where', async () => {
  const editor = { EDITOR: 'sed -i.bak s/plain/simple/2' };
  computer.write({ 'append.sh': 'echo "More." >> "$1"\n' });
  const edited = await computer.run(['edit', 'plain'], { env: { EDITOR: `sh ${computer.home}/append.sh` } });
  expect([edited.code, edited.stdout]).toEqual([0, 'skill plain: edited, now revision 2.\n']);
  expect((await computer.run(['show', 'plain'])).stdout).toBe(`${skill('plain')}More.\n`);
  expect((await computer.run(['edit', 'plain'], { env: { EDITOR: 'true' } })).stderr).toBe(
    'Nothing was changed.\n',
  );
  const failing = await computer.run(['edit', 'plain'], { env: { ...editor, VISUAL: 'false' } });
  expect([failing.code, failing.stderr]).toMatchObject([
    1,
    expect.stringContaining('The editor (false) ended with code 1'),
  ]);

  // Another writer comes between reading and sending.
  const other = `${process.execPath} ${computer.program} edit plain --description Other.`;
  computer.write({ 'race.sh': `${other} >/dev/null\necho "Mine." >> "$1"\n` });
  const lost = await computer.run(['edit', 'plain'], { env: { EDITOR: `sh ${computer.home}/race.sh` } });
  expect(lost.code).toBe(1);
  const kept = /Your text is kept in (\S+);/.exec(lost.stderr)?.[1] as string;
  expect(lost.stderr).toContain(
    'plain is at revision 3, but this change is based on revision 2 (SKILL.md differs)',
  );
  expect(readFileSync(kept, 'utf8')).toBe(`${skill('plain')}More.\nMine.\n`);
  expect(await show('plain')).toMatchObject({ revision: 3, description: 'Other.' });
});

test('disable, enable, remove, restore, rename', async () => {
  expect((await computer.run(['disable', 'review'])).stdout).toBe('skill review: disabled.\n');
  expect((await computer.run(['list'])).stdout).toMatch(/^review {2}skill +disabled /m);
  expect((await computer.run(['disable', 'review'])).stdout).toBe('skill review: disabled already.\n');
  expect((await computer.run(['enable', 'review'])).stdout).toBe('skill review: enabled.\n');

  const unasked = await computer.run(['remove', 'review']);
  expect([unasked.code, unasked.stdout]).toEqual([1, '']);
  expect(unasked.stderr).toContain('There is no terminal here to ask on; --yes says yes.');
  const some = await computer.run(['remove', 'review', 'nothing', '--yes']);
  expect([some.code, some.stdout]).toEqual([1, 'skill review: removed.\n']);
  expect(some.stderr).toContain('nothing: There is no skill or persona named nothing');
  expect((await computer.run(['list'])).stdout).not.toContain('review');
  expect((await computer.run(['list', '--removed'])).stdout).toMatch(/^review {2}skill +removed /m);
  expect((await computer.run(['restore', 'review'])).stdout).toBe('skill review: restored.\n');

  expect((await computer.run(['rename', 'review', 'code-review'])).stdout).toBe(
    'skill review: renamed to code-review.\n',
  );
  const invalid = await computer.run(['rename', 'code-review', 'Code Review']);
  expect([invalid.code, invalid.stderr]).toMatchObject([1, expect.stringContaining('such as code-review.')]);
  const history = await computer.json<ItemHistory>(['history', 'code-review']);
  expect(history.changes.map(({ type }) => type)).toEqual([
    'renamed',
    'restored',
    'removed',
    'enabled',
    'disabled',
    'edited',
    'edited',
    'edited',
    'created',
  ]);
  const shown = await computer.run(['history', 'code-review']);
  expect(shown.stdout).toMatch(/^skill code-review: active, revision \d+$/m);
  expect(shown.stdout).toMatch(/ {2}created +1 {2}laptop$/m);
});

test('restore of an older revision is a new one on top', async () => {
  computer.write({ 'old/SKILL.md': skill('old', 'First.') });
  await computer.run(['add', 'old']);
  await computer.run(['edit', 'old', '--description', 'Second.']);
  expect((await computer.run(['restore', 'old', '--revision', '1'])).stdout).toBe(
    'skill old: restored as it was in revision 1.\n',
  );
  expect(await show('old')).toMatchObject({ revision: 3, description: 'First.' });
  expect((await computer.run(['restore', 'old', '--revision', 'x'])).code).toBe(2);
  const two = await computer.run(['restore', 'old', 'plain', '--revision', '1']);
  expect([two.code, two.stderr]).toEqual([2, 'A revision belongs to one item: name only that one.\n']);
});

test('restore brings back several at once', async () => {
  for (const name of ['gone-1', 'gone-2']) computer.write({ [`gone/${name}/SKILL.md`]: skill(name) });
  await computer.run(['add', 'gone']);
  await computer.run(['remove', 'gone-1', 'gone-2', '--yes']);
  expect((await computer.run(['restore', 'gone-1', 'gone-2'])).stdout).toBe(
    'skill gone-1: restored.\nskill gone-2: restored.\n',
  );
});

test('an edit that clients will not read as meant says so, once', async () => {
  computer.write({ 'odd/SKILL.md': skill('odd') });
  await computer.run(['add', 'odd']);
  const empty = await computer.run(['edit', 'odd', '--description', '']);
  expect([empty.code, empty.stdout]).toEqual([0, 'skill odd: edited, now revision 2.\n']);
  expect(empty.stderr).toContain('  note: The front matter has no description.');
  computer.write({ 'body.md': 'More.\n' });
  expect((await computer.run(['edit', 'odd', '--instructions', 'body.md'])).stderr).toBe('');
});

test('guidelines are set from a file or the input and printed as they are', async () => {
  expect((await computer.run(['guidelines'])).stderr).toContain('There are no guidelines');
  const text = 'Be brief.\nNo jargon – ever.\n';
  expect((await computer.run(['guidelines', '--set', '-'], { input: text })).stdout).toBe(
    'The guidelines are set.\n',
  );
  expect((await computer.run(['guidelines'])).stdout).toBe(text);
  const binary = await computer.run(['guidelines', '--set', '-'], { input: Buffer.from([255, 254]) });
  expect([binary.code, binary.stderr]).toEqual([
    1,
    'The input is no UTF-8 text; save it as UTF-8 and try again.\n',
  ]);
  const refused = await computer.run(['guidelines', '--set', '-'], {
    input: `token ghp_${'a1B2c3D4e5'.repeat(3)}f6G7h8\n`,
  });
  expect(refused.code).toBe(1);
  expect(refused.stderr).not.toContain('ghp_');
});
