import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { openTestApi, type TestApi } from '../api/harness.ts';
import { headersOf } from '../mcp/harness.ts';
import { ask, change } from './ask.ts';
import { startScripted, tool } from './upstreams.ts';

/** What an isolate keeps of a list must never outlive a change; the clock stands still, so that no change differs by its time. */
let api: TestApi;
let token: string;
let upstream: { tools: object[] };

beforeEach(async () => {
  api = await openTestApi({ outbound: (url, init) => fetch(url, init) });
  token = await api.token();
  upstream = { tools: [tool('deploy'), { ...tool('look'), annotations: { readOnlyHint: true } }] };
  const running = await startScripted(({ method, result }) => {
    if (method === 'tools/list') result({ tools: upstream.tools });
    else if (!method.startsWith('notifications/')) result({ content: [] });
  });
  onTestFinished(running.stop);
  await send('POST', '/servers', { name: 'docs', upstream: running.url, manifest: 'skills: true\n' });
});

const send = (method: string, path: string, body?: unknown) => change(api, path, { method, body, token });

async function list(bearer = token, server = 'docs'): Promise<string> {
  const { result } = await ask(api, `/mcp/${server}`, { method: 'tools/list', token: bearer });
  return JSON.stringify(result());
}

/** The list once it is kept. */
async function settled(): Promise<string> {
  await list();
  const kept = await list();
  expect(await list()).toBe(kept);
  return kept;
}

const skill = (name: string, text: string) =>
  `---\nname: ${name}\ndescription: Of ${name}.\nreferences_tools: [deploy]\n---\n${text}\n`;

test('every change is in the next list, however many lists were the same before', async () => {
  const item = (text: string) => ({ files: { 'SKILL.md': { text: skill('method', text) } } });
  const own = (text: string) => () =>
    send('PUT', '/servers/docs/skills/own.md', { text: skill('own', text) });
  const changes: [string, () => unknown, string | null][] = [
    ['an item', () => send('POST', '/items', { kind: 'skill', name: 'method', ...item('First.') }), 'First.'],
    [
      'its edit',
      () => send('PATCH', '/items/skill/method', { ...item('Second.'), expected_revision: 1 }),
      'Second.',
    ],
    [
      'its end',
      () => send('PATCH', '/items/skill/method', { state: 'disabled', expected_revision: 2 }),
      null,
    ],
    ['guidelines', () => send('PUT', '/guidelines', { text: 'Be brief, always.' }), 'Be brief, always.'],
    ['a skill of the server', own('Third.'), 'Third.'],
    ['its edit', own('Fourth.'), 'Fourth.'],
    ['its end', () => send('DELETE', '/servers/docs/skills/own.md', undefined), null],
    [
      'the manifest',
      () => send('PATCH', '/servers/docs', { manifest: 'tools:\n  - bundled: look\n    rename: peer\n' }),
      '"peer"',
    ],
    ["the server's own tools", () => upstream.tools.push(tool('more')), 'Does more.'],
  ];
  for (const [what, make, seen] of changes) {
    const before = await settled();
    await make();
    const after = await list();
    expect(after, what).not.toBe(before);
    if (seen) expect(after, what).toContain(seen);
    expect(await settled(), what).toBe(after);
  }
});

test('a list that is told and not asked for is accepted without content', async () => {
  const answer = await api.call('/mcp/docs', {
    method: 'POST',
    token,
    headers: headersOf('tools/list', {}, '2025-06-18'),
    body: { jsonrpc: '2.0', method: 'tools/list' },
  });
  expect(answer.status).toBe(202);
  expect(answer.headers.get('content-type')).toBeNull();
});

test('what one credential is shown is not shown to another', async () => {
  const reading = await api.token(['skills:read']);
  for (let round = 0; round < 3; round++) {
    expect(await list()).toContain('"deploy"');
    expect(await list(reading)).not.toContain('"deploy"');
    expect(await list(reading)).toContain('"look"');
  }
});

test('a list that is the list of before costs one look-up in the database, which tells nothing of skills', async () => {
  for (let n = 0; n < 30; n++) {
    const text = skill(`method-${n}`, 'Text.');
    await send('POST', '/items', { kind: 'skill', name: `method-${n}`, files: { 'SKILL.md': { text } } });
  }
  await settled();
  const answers: string[] = [];
  api.database.send = async (sent) => {
    const answer = await sent();
    answers.push(await answer.clone().text());
    return answer;
  };
  expect(await list()).toContain('mcp-skill:method-29');
  expect(answers).toHaveLength(1);
  expect(answers[0]).not.toContain('method-');
});

const GRAPH = JSON.stringify({
  entities: [{ name: 'v1', entityType: 'Release', observations: [] }],
  relations: [],
});

test('a server that is down is not asked for its graph as well: its stale list comes without what hangs on that', async () => {
  const asked: string[] = [];
  let down = false;
  const running = await startScripted(({ method, result, response }) => {
    if (method.startsWith('notifications/')) return;
    asked.push(method);
    if (down) response.writeHead(503).end();
    else if (method === 'tools/list') result({ tools: [tool('deploy'), tool('read_graph')] });
    else result({ content: [{ type: 'text', text: GRAPH }] });
  });
  onTestFinished(running.stop);
  await send('POST', '/servers', {
    name: 'graph',
    upstream: running.url,
    manifest: 'skills: true\ngraph: memory\n',
  });
  const gated =
    '---\nname: deploy\ndescription: Of it.\napplies_when:\n  graph_has_node_type: [Release]\n---\nGated.\n';
  await send('PUT', '/servers/graph/skills/deploy.md', { text: gated });
  expect(await list(token, 'graph')).toContain('Gated.');
  down = true;
  asked.length = 0;
  api.clock.now += 2000;
  const stale = await list(token, 'graph');
  expect(stale).toContain('staleSince');
  expect(stale).not.toContain('Gated.');
  expect(asked).not.toContain('tools/call');
});
