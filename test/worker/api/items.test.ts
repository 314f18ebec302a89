import { beforeEach, describe, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { LIMITS } from '../../../schema/item.ts';
import { skillText } from '../registry/harness.ts';
import { openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
});

const at = (path: string, method = 'GET', body?: unknown) =>
  api.call(`/api/v1${path}`, { method, token, body });

const create = (files: Record<string, unknown>, rest = {}) =>
  at('/items', 'POST', { kind: 'skill', files, ...rest });

const deploy = { 'SKILL.md': { text: skillText('deploy') } };

test("an item's life: created, edited, renamed, disabled, removed, restored, all in its history", async () => {
  const created = await create(deploy);
  expect([created.status, created.headers.get('location')]).toEqual([201, '/api/v1/items/skill/deploy']);
  const steps = [
    await at('/items/skill/deploy', 'PATCH', { expected_revision: 1, description: 'Ships it.' }),
    await at('/items/skill/deploy/rename', 'POST', { expected_revision: 2, to: 'ship' }),
    await at('/items/skill/ship', 'PATCH', { expected_revision: 3, state: 'disabled' }),
    await at('/items/skill/ship?expected_revision=3', 'DELETE'),
  ];
  expect(steps.map(({ json }) => [json.item?.name, json.item?.revision, json.item?.state])).toEqual([
    ['deploy', 2, 'active'],
    ['ship', 3, 'active'],
    ['ship', 3, 'disabled'],
    ['ship', 3, 'removed'],
  ]);
  expect((await at('/items')).json.items).toEqual([]);
  expect((await at('/items?removed=1')).json.items).toMatchObject([{ name: 'ship', state: 'removed' }]);
  const restored = await at('/items/skill/ship/restore', 'POST', { expected_revision: 3 });
  expect(restored.json.item).toMatchObject({ revision: 4, state: 'active', description: 'Ships it.' });
  const { json: history } = await at('/items/skill/ship/history');
  expect(
    history.revisions.map(({ revision, parent }: Record<string, unknown>) => [revision, parent]),
  ).toEqual([
    [4, 3],
    [3, 2],
    [2, 1],
    [1, null],
  ]);
  expect(history.changes.map(({ type }: { type: string }) => type)).toEqual([
    'restored',
    'removed',
    'disabled',
    'renamed',
    'edited',
    'created',
  ]);
  expect(history.changes[0].author).toMatchObject({ type: 'token', name: 'test' });
  await api.settle();
  expect(api.push.told).toHaveLength(6);
  expect(api.push.told.at(-1)).toMatchObject({ cursor: restored.json.cursor });
});

test('a stale write is refused with the current revision and what differs', async () => {
  await create({ ...deploy, 'a.md': { text: 'a' } });
  await at('/items/skill/deploy', 'PATCH', { expected_revision: 1, files: { 'a.md': { text: 'b' } } });
  for (const stale of [
    at('/items/skill/deploy', 'PATCH', { expected_revision: 1, description: 'Other.' }),
    at('/items/skill/deploy?expected_revision=1', 'DELETE'),
    at('/items/skill/deploy/rename', 'POST', { expected_revision: 1, to: 'other' }),
    at('/items/skill/deploy/restore', 'POST', { expected_revision: 1, revision: 1 }),
  ]) {
    const { status, problem } = await stale;
    expect([status, problem.code, problem.details]).toEqual([
      409,
      'conflict',
      { current_revision: 2, differs: ['a.md'] },
    ]);
  }
});

test('a name that is taken is refused', async () => {
  await create(deploy);
  expect((await create(deploy)).problem).toMatchObject({ code: 'name_taken', status: 409 });
});

describe('a file', () => {
  const files = {
    ...deploy,
    'notes/ä ö.md': { text: '<script>alert(1)</script>' },
    'logo.png': { base64: 'iVBORwAA' },
  };

  test('comes byte for byte, as a download that no browser shows as a page', async () => {
    await create(files);
    const text = await at('/items/skill/deploy/files/notes/%C3%A4%20%C3%B6.md');
    expect(text.text).toBe('<script>alert(1)</script>');
    expect(Object.fromEntries(text.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': "attachment; filename*=UTF-8''%C3%A4%20%C3%B6.md",
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      etag: `"${await sha256('<script>alert(1)</script>')}"`,
    });
    expect((await at('/items/skill/deploy/files/logo.png')).headers.get('content-type')).toBe(
      'application/octet-stream',
    );
    expect((await at('/items/skill/deploy/files/SKILL.md')).text).toBe(skillText('deploy'));
  });

  test('that the caller has already is not sent again', async () => {
    await create(files);
    const path = '/api/v1/items/skill/deploy/files/SKILL.md';
    const etag = (await api.call(path, { token })).headers.get('etag') ?? '';
    const again = await api.call(path, { token, headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test.each([
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e%2fdeploy%2fSKILL.md',
    'notes%5Cx',
    'no.md',
    'notes',
    '%00',
    '%E0%A4%A',
  ])('%s is not there', async (path) => {
    await create(files);
    const { status, problem } = await at(`/items/skill/deploy/files/${path}`);
    expect([status, problem.code]).toEqual([404, 'not_found']);
  });
});

test.each([
  '../evil.md',
  'a/../../evil.md',
  '/etc/passwd',
  'C:\\evil.md',
  'a\\b.md',
  'CON',
  'aux.md',
  'a/./b',
  'a//b',
  '.git/config',
  'trailing. ',
  'zero\u200bwidth',
  'bidi\u202e.md',
  'nul\0',
  'PROGRA~1/x',
  'a'.repeat(201),
])('the path %j is refused', async (path) => {
  const { status, problem } = await create({ ...deploy, [path]: { text: 'x' } });
  expect([status, problem.code]).toEqual([400, 'invalid_path']);
  expect((await at('/items')).json.items).toEqual([]);
});

test('paths that are one file on some disks are refused', async () => {
  const { problem } = await create({ ...deploy, 'Straße.md': { text: 'x' }, 'STRASSE.md': { text: 'y' } });
  expect(problem).toMatchObject({ status: 400, code: 'path_collision' });
});

describe('sizes', () => {
  test('a body of more than 3 MiB is refused before it is parsed, with and without a declared length', async () => {
    const body = 'x'.repeat(LIMITS.mcpBodyBytes + 1);
    for (const headers of [{}, { 'content-length': String(body.length) }]) {
      const { status, problem } = await api.call('/api/v1/items', { method: 'POST', token, body, headers });
      expect([status, problem.code]).toEqual([413, 'too_large']);
    }
  });

  test('a blob of more than 1 MiB is refused', async () => {
    const bytes = new Uint8Array(LIMITS.fileBytes + 1);
    const { status, problem } = await at(`/blobs/${await sha256(bytes)}`, 'PUT', bytes);
    expect([status, problem.code]).toEqual([413, 'too_large']);
  });

  test('an item of 8 MiB goes blob by blob and is committed by digest; one byte more is refused', async () => {
    const main = skillText('big');
    const files: Record<string, unknown> = { 'SKILL.md': { text: main } };
    const sizes = Array.from({ length: 8 }, (_, i) => LIMITS.fileBytes - (i === 7 ? main.length : 0));
    for (const [i, size] of sizes.entries()) {
      const bytes = new Uint8Array(size).fill(i);
      const digest = await sha256(bytes);
      expect((await at(`/blobs/${digest}`, 'PUT', bytes)).status).toBe(204);
      files[`${i}.bin`] = { digest };
    }
    const tooBig = await create({ ...files, more: { text: 'x' } });
    expect([tooBig.status, tooBig.problem.code]).toEqual([413, 'too_large']);
    const { status, json } = await create(files);
    expect(status).toBe(201);
    const last = json.item.files.find((file: { path: string }) => file.path === '7.bin');
    const { text } = await at(`/blobs/${last.digest}`);
    expect(text).toBe('\u0007'.repeat(last.size));
  });

  test('bytes of another digest are refused', async () => {
    const { status, problem } = await at(`/blobs/${await sha256('a')}`, 'PUT', 'b');
    expect([status, problem.code]).toEqual([400, 'invalid_input']);
  });
});

describe('credentials', () => {
  const secret = `ghp${'_'}Zk3Vq8Nw1Ry6Tb0Xm5Jd9Hc2Lf7Pg4SaWeQu`;

  test('are refused with rule, file and line, and their value is in no answer and nowhere in the database', async () => {
    const { status, problem } = await create({
      ...deploy,
      'run.sh': { text: `#!/bin/sh\nexport T=${secret}\n` },
    });
    expect([status, problem.code]).toEqual([422, 'credential']);
    expect(problem.details?.findings).toMatchObject([{ level: 'refuse', path: 'run.sh', line: 2 }]);
    expect((await at('/guidelines', 'PUT', { text: secret })).problem.code).toBe('credential');
    await at('/items?q=export');
    expect(api.seen.texts.join('\n')).not.toContain(secret);
    for (const table of ['items', 'blobs', 'changes', 'accounts', 'search'])
      expect(JSON.stringify(await api.db.all(`select * from ${table}`))).not.toContain(secret);
  });

  test('of the level ask pass with a confirmation by a token that may confirm, and only with one', async () => {
    const jwt = [
      'eyJhbGciOiJIUzI1NiJ9',
      'eyJzdWIiOiI0MiIsInJvbGUiOiJhZG1pbiJ9',
      'q7Xk2vTn9RbL4mWcZ8sYdP3fHg6JuA1eQoViKxNtBrM',
    ].join('.');
    const files = { ...deploy, 'sample.md': { text: `A token looks like ${jwt}\n` } };
    const asked = await create(files);
    expect([asked.status, asked.problem.code]).toEqual([422, 'confirmation_required']);
    const confirm = asked.problem.details?.findings?.map(({ rule, match }) => ({ rule, match }));
    const low = await api.token(['skills:read', 'skills:write']);
    const body = { kind: 'skill', files, confirm };
    const refused = await api.call('/api/v1/items', { method: 'POST', token: low, body });
    expect(refused.problem).toMatchObject({
      code: 'insufficient_scope',
      details: { scopes: ['items:confirm'] },
    });
    expect((await create(files, { confirm })).status).toBe(201);
  });
});

test('search finds words in text files, best first', async () => {
  await create({ ...deploy, 'guide.md': { text: 'Roll back with the blue lever.' } });
  const { json } = await at('/items?q=blue lev');
  expect(json.hits).toMatchObject([{ name: 'deploy', path: 'guide.md' }]);
  expect((await at('/items?q=%22')).problem.code).toBe('invalid_input');
  expect((await at('/items?q=blue&kind=persona')).json.hits).toEqual([]);
});

describe('the change feed', () => {
  test('gives each item once, then only what changed, tombstones included', async () => {
    await create(deploy);
    const first = await at('/changes');
    expect(first.json).toMatchObject({
      start_over: true,
      more: false,
      items: [{ name: 'deploy', state: 'active' }],
    });
    expect(first.json.items[0].files[0].text).toBe(skillText('deploy'));
    await at('/items/skill/deploy?expected_revision=1', 'DELETE');
    await at('/guidelines', 'PUT', { text: 'Be brief.' });
    const { json } = await at(`/changes?since=${first.json.cursor}`);
    expect(json).toMatchObject({
      start_over: false,
      items: [{ name: 'deploy', state: 'removed', files: [] }],
      guidelines: { text: 'Be brief.' },
    });
    expect((await at(`/changes?since=${json.cursor}`)).json.items).toEqual([]);
  });

  test('of a registry that went back in time is refused', async () => {
    await create(deploy);
    const { cursor } = (await at('/changes')).json;
    for (const since of [cursor.replace(/\d+$/, '99'), `x${cursor}`]) {
      const { status, problem } = await at(`/changes?since=${since}`);
      expect([status, problem.code, problem.details]).toEqual([409, 'registry_rewound', { cursor }]);
    }
  });
});
