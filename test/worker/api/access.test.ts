import { beforeEach, describe, expect, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import type { TestDevice } from '../device.ts';
import { skillText } from '../registry/harness.ts';
import { makeThings, type Things } from '../things.ts';
import { openTestApi, type TestApi } from './harness.ts';
import { ROUTES, type Route, UPGRADE } from './routes.ts';

let api: TestApi;

beforeEach(async () => {
  api = await openTestApi();
});

const call = (route: Route, its: Things, who: { token?: string; device?: TestDevice }) =>
  api.call(`/api/v1${route.at(its)}`, {
    method: route.method,
    headers: UPGRADE,
    ...(route.body === undefined ? {} : { body: route.body }),
    ...who,
  });

const named = (route: Route) => `${route.method} ${route.path}`;

test('the table names every route of the API', () => {
  const routes = api.app.routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/v1'));
  expect(ROUTES.map(named).sort()).toEqual(
    routes.map(({ method, path }) => `${method} ${path.slice('/api/v1'.length)}`).sort(),
  );
});

test('without a credential every route answers 401 and says which would do', async () => {
  const its = await makeThings(api, await api.addAccount());
  for (const route of ROUTES) {
    const { status, headers, problem } = await call(route, its, {});
    expect([named(route), status, problem.code]).toEqual([named(route), 401, 'unauthorized']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('www-authenticate')).toBe(
      'Bearer resource_metadata="http://localhost:8787/.well-known/oauth-protected-resource/mcp", scope="skills:read skills:write", DPoP algs="ES256"',
    );
  }
});

test('a token in the query is none', async () => {
  const token = await api.token();
  for (const name of ['access_token', 'token', 'authorization'])
    expect((await api.call(`/api/v1/items?${name}=${token}`)).status).toBe(401);
});

test.each(['Bearer', 'Bearer nonsense', 'Basic b3duZXI6eA==', 'DPoP', 'bearer  ', 'sk_x'])(
  'the credential %j is refused',
  async (authorization) => {
    const { status, headers } = await api.call('/api/v1/items', { headers: { authorization } });
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"');
  },
);

test('an unknown API token is refused', async () => {
  const { status, problem } = await api.call('/api/v1/items', { token: `sk_${'x'.repeat(43)}` });
  expect([status, problem.code]).toEqual([401, 'unauthorized']);
});

test("a device's token is refused as a bearer token", async () => {
  const { token } = await api.pair();
  const { status } = await api.call('/api/v1/items', { headers: { authorization: `Bearer ${token}` } });
  expect(status).toBe(401);
});

test('every route refuses a caller without its scope, names the scope, and changes nothing', async () => {
  const account = await api.addAccount();
  const its = await makeThings(api, account);
  const state = async () => {
    const token = await api.token(Scope.options, account);
    const answers = await Promise.all(
      ['/changes', '/guidelines', '/devices', '/servers'].map((path) =>
        api.call(`/api/v1${path}`, { token }),
      ),
    );
    return answers.map(({ json }) => json);
  };
  await api.settle();
  const before = await state();
  for (const route of ROUTES) {
    if (route.scope === null || route.scope === 'none') continue;
    const scopes = Scope.options.filter((scope) => scope !== route.scope);
    const token = await api.token(route.scope === 'device' ? Scope.options : scopes, account);
    const { status, problem, headers } = await call(route, its, { token });
    expect([named(route), status, problem.code]).toEqual([named(route), 403, 'insufficient_scope']);
    expect(headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    if (route.scope !== 'device') {
      expect(problem.details?.scopes).toEqual([route.scope]);
      expect(headers.get('www-authenticate')).toContain(route.scope);
    }
  }
  expect(await state()).toEqual(before);
});

describe('two accounts', () => {
  test("lists, feed and search show nothing of another account's", async () => {
    await makeThings(api, await api.addAccount());
    const token = await api.token();
    for (const path of [
      '/items',
      '/items?removed=1',
      '/items?q=mine',
      '/changes',
      '/devices',
      '/clients',
      '/servers',
    ]) {
      const { status, text } = await api.call(`/api/v1${path}`, { token });
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain('mine');
      expect(text).not.toContain('laptop');
    }
  });

  test('the same bytes are there for the account that sent them, and only for it', async () => {
    const digest = '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d';
    const [one, two] = [await api.token(), await api.token(Scope.options, await api.addAccount())];
    const put = (token: string) => api.call(`/api/v1/blobs/${digest}`, { method: 'PUT', token, body: 'b' });
    const get = (token: string) => api.call(`/api/v1/blobs/${digest}`, { token });
    const use = (token: string) =>
      api.call('/api/v1/items', {
        method: 'POST',
        token,
        body: { kind: 'skill', files: { 'SKILL.md': { text: skillText('b') }, b: { digest } } },
      });
    expect((await put(one)).status).toBe(204);
    expect([(await get(one)).text, (await get(two)).status]).toEqual(['b', 404]);
    expect((await use(two)).problem).toMatchObject({ code: 'invalid_input', details: { path: 'b' } });
    expect((await put(two)).status).toBe(204);
    expect([(await get(two)).text, (await use(two)).status]).toEqual(['b', 201]);
  });

  test("a device cannot put itself into the history of another account's item", async () => {
    const owner = await api.token();
    const { json } = await api.call('/api/v1/items', {
      method: 'POST',
      token: owner,
      body: { kind: 'skill', name: 'a', description: 'A.', instructions: 'A.' },
    });
    const item = { item: json.item.id, kind: 'skill', name: 'a', state: 'failed', revision: 1, digest: null };
    const folder = { path: '/x', kind: 'skill', clients: [], state: 'written', items: [item], gone: [] };
    const report = { cursor: null, agent_version: '1', dropped: [], events: [] };
    const stranger = await api.pair(await api.addAccount());
    const sent = await api.call('/api/v1/devices/self/report', {
      method: 'PUT',
      device: stranger,
      body: { ...report, folders: [{ ...folder, complete: true }] },
    });
    expect(sent.status).toBe(204);
    const history = await api.call('/api/v1/items/skill/a/history', { token: owner });
    expect(history.json.devices).toEqual([]);
  });

  test('an item of the same name in both is two items', async () => {
    const body = (text: string) => ({
      kind: 'skill',
      name: 'same',
      description: text,
      instructions: text,
    });
    const [one, two] = [await api.token(), await api.token(Scope.options, await api.addAccount())];
    await api.call('/api/v1/items', { method: 'POST', token: one, body: body('One.') });
    await api.call('/api/v1/items', { method: 'POST', token: two, body: body('Two.') });
    expect((await api.call('/api/v1/items/skill/same', { token: one })).json.description).toBe('One.');
    expect((await api.call('/api/v1/items/skill/same', { token: two })).json.description).toBe('Two.');
  });
});

test('whoami names the caller', async () => {
  const { json } = await api.call('/api/v1/whoami', { token: await api.token(['skills:read']) });
  expect(json).toMatchObject({ type: 'token', name: 'test', scopes: ['skills:read'] });
  const device = await api.pair();
  expect((await api.call('/api/v1/whoami', { device })).json).toMatchObject({
    type: 'device',
    id: device.id,
    name: 'laptop',
    scopes: ['skills:read', 'skills:write'],
  });
});
