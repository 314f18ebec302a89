import { beforeEach, expect, test } from 'vitest';
import { Scope } from '../../schema/api.ts';
import { type Answer, type Call, openTestApi, type TestApi } from './api/harness.ts';
import { ROUTES } from './api/routes.ts';
import { signedIn } from './auth/signed-in.ts';
import { TestDevice } from './device.ts';
import { dumpDatabase } from './dump.ts';
import { headersOf, MODERN } from './mcp/harness.ts';
import { skillText } from './registry/harness.ts';
import { makeThings, type Things } from './things.ts';

/** What a caller of one account sends to a route, with an id of another account. */
interface Attempt {
  readonly path: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** What its refusal looks like, where that is no 404. */
  readonly refused?: (answer: Answer) => void;
}

/** Each route outside the API, and each handler of all methods: what is tried there, or why there is nothing to try. */
const OTHERS: Readonly<Record<string, string | ((its: Things) => readonly Attempt[])>> = {
  'ALL /mcp': ({ skill, persona, server }) => [
    tool('skills', { action: 'get', name: skill }),
    tool('skills', { action: 'get', name: persona, kind: 'persona' }),
    tool('skill_edit', { action: 'edit', name: skill, description: 'Theirs.' }),
    tool('skill_edit', { action: 'edit', name: skill, state: 'disabled' }),
    tool(`${server}_search`, {}),
    rpc('resources/read', { uri: `skill://${skill}/SKILL.md` }),
    rpc('prompts/get', { name: skill }),
    rpc('prompts/get', { name: persona }),
  ],
  'ALL /mcp/:server': ({ server }) => [
    { path: `/mcp/${server}`, ...message('tools/list', {}) },
    { path: `/mcp/${server}`, ...message('tools/call', { name: 'search', arguments: {} }) },
  ],
  'GET /pair': ({ code }) => [
    {
      path: `/pair?code=${code}`,
      headers: { accept: 'text/html' },
      refused: ({ text }) => {
        expect(text).toContain('Somebody else has opened the code');
        expect(text).not.toContain('theirs to see');
      },
    },
  ],
  'GET /authorize': 'names a client, which is nobody’s',
  'POST /authorize': 'takes the handle of a question that this browser was asked: check 13',
  'POST /token': 'takes codes and refresh tokens, which are secrets: checks 3 to 8',
  'POST /revoke': 'takes tokens, which are secrets: check 9',
  'POST /register': 'takes no id',
  'POST /auth/setup/options': 'takes a secret link: check 18',
  'POST /auth/setup/finish': 'takes a secret link: check 18',
  'POST /auth/login/options': 'takes nothing',
  'POST /auth/login/finish': 'takes what a passkey signed: check 19',
  'POST /auth/login/recovery': 'takes a secret code: check 21',
  'POST /auth/check/options': 'takes nothing',
  'POST /auth/check/finish': 'takes what a passkey of the session’s account signed: check 19',
  'POST /auth/logout': 'ends the session that calls',
  'GET /auth/oidc/start': 'takes an address of this site',
  'POST /auth/oidc/link': 'links to the account of the session that calls: check 22',
  'GET /auth/oidc/callback': 'takes the answer to a question that this browser was asked: check 22',
  'POST /auth/access': 'takes an assertion that is signed elsewhere: check 22',
  'GET /servers/callback': 'takes a secret state: the tests of connecting a server',
  'GET /servers/client.json': 'takes nothing',
};

/** Reads what everybody may, or takes nobody but the person who looks. */
const OPEN = /^GET (\/\.well-known\/.*|\/assets\/:name|\/(|setup|login|account|health))$/;

/** Ids that the API takes in a body or a query. */
const BODIES = (its: Things): readonly Attempt[] => [
  {
    path: '/api/v1/items',
    method: 'POST',
    body: {
      kind: 'skill',
      files: { 'SKILL.md': { text: skillText('theirs') }, a: { digest: its.digest } },
    },
    refused: ({ status, problem }) => expect([status, problem.code]).toEqual([400, 'invalid_input']),
  },
  {
    path: `/api/v1/changes?since=${its.cursor}`,
    refused: ({ status, problem }) => expect([status, problem.code]).toEqual([409, 'registry_rewound']),
  },
];

/** When something was last used is noted whoever comes. */
const NOTED = ['tokens.last_used_at', 'sessions.last_used_at', 'sessions.expires_at', 'devices.last_seen_at'];
/** What a caller leaves behind of itself. */
const TRACES = ['code_misses', 'clients_seen', 'proofs'];

let api: TestApi;
let its: Things;
let stranger: string;

beforeEach(async () => {
  api = await openTestApi();
  its = await makeThings(api, await api.addAccount());
  stranger = await api.addAccount();
});

test('check 16: each route that is no route of the API has its attempts, or a reason for none', () => {
  const handlers = api.app.routes.filter(({ path }) => !path.startsWith('/api/v1') && !path.includes('*'));
  const named = handlers.filter(({ method }) => method !== 'ALL');
  const paths = new Set(named.map(({ path }) => path));
  const routes = [
    ...named.map(({ method, path }) => `${method} ${path}`),
    ...handlers.filter(({ path }) => !paths.has(path)).map(({ path }) => `ALL ${path}`),
  ].filter((route) => !OPEN.test(route));
  expect([...new Set(routes)].sort()).toEqual(Object.keys(OTHERS).sort());
});

const CALLERS: [string, readonly string[], () => Promise<Call>][] = [
  [
    'a session whose passkey was checked just now',
    ['GET /pair'],
    async () => {
      const session = await signedIn(api, stranger);
      await session.fresh();
      return { headers: session.headers };
    },
  ],
  [
    'an API token with every scope',
    ['ALL /mcp', 'ALL /mcp/:server'],
    async () => ({ token: await api.token(Scope.options, stranger) }),
  ],
];

test.each(CALLERS)(
  'check 16: %s of another account finds nothing under any id, and changes nothing',
  async (_, doors, caller) => {
    const attempts: Attempt[] = [...BODIES(its), ...doors.flatMap((door) => attemptsAt(door))];
    for (const { method, path, at, body } of ROUTES) {
      // A digest names content, which whoever has it may send.
      if (!path.includes(':') || (method === 'PUT' && path === '/blobs/:digest')) continue;
      attempts.push({ method, path: `/api/v1${at(its)}`, ...(body === undefined ? {} : { body }) });
    }
    expect(attempts.length).toBeGreaterThan(25);
    const who = await caller();
    const before = await dump();
    for (const attempt of attempts) await isRefused(attempt, who);
    expect(await dump()).toEqual(before);
  },
);

test('check 16: under the same ids their own account finds something', async () => {
  const somebody = async () => {
    const account = await api.addAccount();
    return { its: await makeThings(api, account), token: await api.token(Scope.options, account) };
  };
  const reader = await somebody();
  for (const { method, path, at, body } of ROUTES.filter(({ path }) => path.includes(':'))) {
    const { its, token } = method === 'GET' ? reader : await somebody();
    const answer = await api.call(`/api/v1${at(its)}`, { method, token, body });
    // A code belongs to the token that opened it first.
    const found = path.startsWith('/pairings/') ? answer.status === 403 : answer.status !== 404;
    expect([method, path, answer.status, found]).toEqual([method, path, answer.status, true]);
  }
});

test('check 16: a device of another account finds nothing under any id, and changes nothing', async () => {
  const scopes = ['skills:read', 'skills:write'];
  const mine = ROUTES.filter(({ path, scope }) => path.includes(':') && scopes.includes(scope ?? ''));
  const attempts = mine
    .filter(({ method, path }) => method !== 'PUT' || path !== '/blobs/:digest')
    .map(({ method, at, body }) => ({ method, path: `/api/v1${at(its)}`, body }));
  const device = await api.pair(stranger);
  const before = await dump();
  for (const attempt of attempts) await isRefused(attempt, { device });
  expect(await dump()).toEqual(before);
});

test('check 16: the code that a device polls with is good for its own key alone', async () => {
  const device = await TestDevice.make();
  await api.call('/api/v1/pairings/token', { method: 'POST', device, body: {} });
  const before = await dump();
  const { problem } = await api.call('/api/v1/pairings/token', {
    method: 'POST',
    device,
    body: { device_code: its.deviceCode },
  });
  expect(problem.code).toBe('expired_token');
  expect(await dump()).toEqual(before);
});

function attemptsAt(door: string): readonly Attempt[] {
  const made = OTHERS[door];
  if (typeof made !== 'function') throw new Error(`There is nothing to try at ${door}.`);
  return made(its);
}

async function isRefused({ path, method = 'GET', body, headers, refused }: Attempt, who: Call) {
  const answer = await api.call(path, {
    method,
    ...who,
    headers: { ...headers, ...who.headers },
    ...(body === undefined ? {} : { body }),
  });
  if (refused) refused(answer);
  else expect([method, path, answer.status]).toEqual([method, path, 404]);
  expect(answer.text).not.toContain('theirs to see');
}

async function dump() {
  await api.settle();
  const tables = await dumpDatabase(api.db, NOTED);
  for (const table of TRACES) delete tables[table];
  return tables;
}

function message(method: string, params: Record<string, unknown>) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'someone', version: '1' },
  };
  return {
    method: 'POST',
    headers: headersOf(method, params),
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
  };
}

/** MCP refuses within its own answer. */
function rpc(method: string, params: Record<string, unknown>): Attempt {
  return {
    path: '/mcp',
    ...message(method, params),
    refused: ({ text, json }) => {
      const { result, error } = json ?? {};
      expect([method, params, result?.isError === true || error !== undefined, text]).toEqual([
        method,
        params,
        true,
        text,
      ]);
    },
  };
}

function tool(name: string, args: Record<string, unknown>): Attempt {
  return rpc('tools/call', { name, arguments: args });
}
