import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Problem } from '../../../schema/errors.ts';
import { items as itemsTable } from '../../../worker/db/tables/registry.ts';
import { skillText } from '../registry/harness.ts';
import { openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
});

const post = (body: unknown) => api.call('/api/v1/items', { method: 'POST', token, body });

describe('what is not as expected is named in one sentence', () => {
  test.each<[unknown, string | undefined, string]>([
    ['{', undefined, 'The body is not valid JSON; send one JSON object.'],
    ['', undefined, 'The body is not valid JSON; send one JSON object.'],
    [[], undefined, 'The body is not as expected: expected object, received array.'],
    [
      { kind: 'tool' },
      'kind',
      'kind in the body is not as expected: Invalid option: expected one of "skill"|"persona".',
    ],
    [
      { kind: 'skill', nme: 'a' },
      undefined,
      'The body is not as expected: it has "nme", which this address does not know.',
    ],
    [
      { kind: 'skill', files: { 'SKILL.md': 'text' } },
      'files.SKILL.md',
      'files.SKILL.md in the body is not as expected: it has none of the shapes that are allowed here.',
    ],
  ])('%j', async (body, field, detail) => {
    const { status, problem } = await post(body);
    expect([status, problem.code, problem.details?.field, problem.detail]).toEqual([
      400,
      'invalid_input',
      field,
      detail,
    ]);
    expect(Problem.parse(problem)).toEqual(problem);
  });

  test.each(['/items/skill/a', '/items/skill/a?expected_revision=', '/items/skill/a?expected_revision=-1'])(
    'DELETE %s',
    async (path) => {
      const { problem } = await api.call(`/api/v1${path}`, { method: 'DELETE', token });
      expect(problem).toMatchObject({ code: 'invalid_input', details: { field: 'expected_revision' } });
    },
  );

  test('GET /changes?since=yesterday', async () => {
    const { problem } = await api.call('/api/v1/changes?since=yesterday', { token });
    expect(problem).toMatchObject({ code: 'invalid_input', details: { field: 'since' } });
  });

  test('a kind that there is not', async () => {
    expect((await api.call('/api/v1/items/tool/a', { token })).problem.code).toBe('not_found');
  });
});

test('an address that there is not is a problem of its own', async () => {
  for (const path of ['/nothing', '/api/v1', '/api/v1/nothing', '/api/v2/items', '/api/v1/items/skill/a/b']) {
    const { status, problem, headers } = await api.call(path, { token });
    expect([path, status, problem.code]).toEqual([path, 404, 'not_found']);
    expect(headers.get('content-type')).toBe('application/problem+json');
  }
});

test('a method that an address does not have is refused with those that it has', async () => {
  for (const [method, path, allow] of [
    ['OPTIONS', '/api/v1/items', 'POST, GET, HEAD'],
    ['PUT', '/api/v1/items/skill/a', 'GET, HEAD, PATCH, DELETE'],
    ['GET', '/api/v1/devices/token', 'POST'],
    ['POST', '/health', 'GET, HEAD'],
  ] as const) {
    const { status, headers, problem } = await api.call(path, { method, token });
    expect([path, status, headers.get('allow')]).toEqual([path, 405, allow]);
    expect(problem.detail).toContain(`not ${method}`);
  }
});

test('HEAD answers as GET does, without the body', async () => {
  const { status, text, headers } = await api.call('/api/v1/items', { method: 'HEAD', token });
  expect([status, text, headers.get('content-type')]).toEqual([200, '', 'application/json']);
});

test('an error that nobody foresaw tells the caller a number, and the log no content', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  await post({ kind: 'skill', files: { 'SKILL.md': { text: skillText('a', 'Very private.') } } });
  await api.db.run('drop table search');
  const { status, problem } = await api.call('/api/v1/items/skill/a', {
    method: 'PATCH',
    token,
    body: { expected_revision: 1, description: 'Just as private.' },
  });
  const written = log.mock.calls.flat().join('\n');
  log.mockRestore();
  expect([status, problem.code]).toEqual([500, 'internal']);
  const id = /look for ([0-9a-f-]{36}) in its log/.exec(problem.detail)?.[1];
  expect(written).toContain(`Error ${id}: `);
  expect(written).toMatch(/\n {4}at /);
  for (const hidden of ['private', 'search', token]) expect(written + problem.detail).not.toContain(hidden);
  expect(await api.db.select({ revision: itemsTable.revision }).from(itemsTable)).toEqual([{ revision: 1 }]);
});

test('what is private is stored by no cache', async () => {
  for (const path of ['/items', '/changes', '/whoami', '/nothing'])
    expect((await api.call(`/api/v1${path}`, { token })).headers.get('cache-control')).toBe('no-store');
});

test('resource metadata is at both well-known addresses', async () => {
  for (const path of ['', '/mcp']) {
    expect((await api.call(`/.well-known/oauth-protected-resource${path}`)).json).toEqual({
      resource: 'http://localhost:8787/mcp',
      authorization_servers: ['http://localhost:8787'],
      resource_name: 'Repertoire',
      scopes_supported: ['skills:read', 'skills:write'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256'],
    });
  }
});

test('the pages for people are text, and repeat no text of the caller', async () => {
  expect((await api.call('/')).text).toContain('http://localhost:8787/mcp');
  expect((await api.call('/pair?code=BCDF-GHJK')).text).toContain('repertoire approve BCDF-GHJK');
  const { text, headers } = await api.call('/pair?code=<script>');
  expect(text).not.toContain('<script>');
  expect(headers.get('content-type')).toMatch(/^text\/plain;/);
  expect((await api.call('/health')).json).toEqual({ status: 'ok' });
});

describe('on a person’s own machine', () => {
  test.each<[string, string | null, number]>([
    ['http://localhost:8787', null, 200],
    ['http://127.0.0.1:8787', 'http://localhost:3000', 200],
    ['http://[::1]:8787', null, 200],
    ['http://evil.test:8787', null, 403],
    ['http://localhost.evil.test', null, 403],
    ['http://localhost:8787', 'https://evil.test', 403],
    ['http://localhost:8787', 'null', 403],
  ])('%s from %s answers %i', async (host, origin, expected) => {
    const local = await openTestApi({ loopbackOnly: true });
    const { status } = await local.call(`${host}/health`, origin === null ? {} : { headers: { origin } });
    expect(status).toBe(expected);
  });
});
