import { beforeEach, describe, expect, test } from 'vitest';
import type { ReportedFolder } from '../../../schema/api.ts';
import { CLIENTS } from '../../../schema/clients.ts';
import type { Kind, State } from '../../../schema/item.ts';
import { POINTER } from '../../../schema/listing.ts';
import { accounts, changes, items } from '../../../worker/db/tables/registry.ts';
import { LEGACY, MODERN, openTestMcp, type TestMcp } from './harness.ts';

let mcp: TestMcp;
let token: string;

beforeEach(async () => {
  mcp = await openTestMcp();
  token = await mcp.token();
});

async function create(kind: Kind, name: string, description = `Does ${name}.`): Promise<string> {
  const body = { kind, name, description, instructions: `# ${name}\n` };
  const { status, json } = await mcp.call('/api/v1/items', { method: 'POST', token, body });
  expect(status).toBe(201);
  return json.item.id;
}

/** Rows beyond what one test would create through the front door. */
async function createMany(count: number, description: string): Promise<void> {
  const [account] = await mcp.db.select().from(accounts);
  const rows = Array.from({ length: count }, (_, i) => ({
    id: `many-${i}`,
    accountId: account?.id ?? '',
    kind: 'skill' as const,
    name: `skill-${String(i).padStart(5, '0')}`,
    description,
    state: 'active' as State,
    revision: 1,
    digest: '0'.repeat(64),
    flags: [],
    inlineBytes: 0,
    seq: 1000 + i,
    createdAt: 0,
    updatedAt: 0,
  }));
  for (let i = 0; i < rows.length; i += 1000) await mcp.db.insert(items).values(rows.slice(i, i + 1000));
}

async function setState(kind: Kind, name: string, state: State): Promise<void> {
  const path = `/api/v1/items/${kind}/${name}`;
  const body = { expected_revision: 1, state };
  const { status } = await mcp.call(path, { method: 'PATCH', token, body });
  expect(status).toBe(200);
}

describe.each([...LEGACY, MODERN])('the handshake of %s', (revision) => {
  test('without items it lists nothing, and creates nothing', async () => {
    expect(await mcp.instructions({ token, revision })).toBeUndefined();
    await mcp.description({ token, revision });
    await mcp.tool('skills', { action: 'list' }, { token, revision });
    expect(await mcp.db.select().from(items)).toEqual([]);
    expect(await mcp.db.select().from(changes)).toEqual([]);
  });

  test('lists active items, not disabled ones', async () => {
    await create('skill', 'deploy');
    await create('skill', 'hidden');
    await create('persona', 'critic');
    await setState('skill', 'hidden', 'disabled');
    const text = await mcp.instructions({ token, revision });
    expect(text).toBe(`${POINTER}\n\nSkills:\ndeploy: Does deploy.\nPersonas:\ncritic: Does critic.`);
  });

  test('carries the guidelines, without items too', async () => {
    const body = { text: 'Answer in Latin.' };
    await mcp.call('/api/v1/guidelines', { method: 'PUT', token, body });
    expect(await mcp.instructions({ token, revision })).toBe('Answer in Latin.');
  });

  test('costs one round trip to the database; the client is noted after the answer', async () => {
    await create('skill', 'deploy');
    await mcp.settle();
    const before = mcp.seen.trips;
    await mcp.instructions({ token, revision, client: '' });
    await mcp.settle();
    expect(mcp.seen.trips - before).toBe(1);
    await mcp.instructions({ token, revision, client: 'someone' });
    await mcp.settle();
    expect(mcp.seen.trips - before).toBe(3);
    const { json } = await mcp.call('/api/v1/clients', { token });
    expect(json.clients).toMatchObject([{ name: 'someone', device: null }]);
  });
});

describe('a client that names itself', () => {
  const capped = CLIENTS.filter(
    ({ instructions }) => Number(instructions) > 0 && Number.isFinite(instructions),
  );

  test.each(
    capped.map(({ id, names, prefixes, instructions, tool }) => ({
      id,
      name: names[0] ?? prefixes[0] ?? '',
      instructions,
      tool,
    })),
  )('$id gets at most $instructions characters, and the rest counted', async ({ name, instructions }) => {
    await createMany(300, `${'word '.repeat(200)}end`);
    for (const revision of ['2025-11-25', MODERN]) {
      const text = (await mcp.instructions({ token, revision, client: name })) ?? '';
      expect(text.length).toBeLessThanOrEqual(Number(instructions));
      expect(text.startsWith(POINTER)).toBe(true);
      expect(text).toMatch(/\d+( more)? skills: skills\(action="list"\)$/);
    }
  });

  test('an unknown one gets the block within 1,500 tokens, descriptions cut at a word', async () => {
    await createMany(20, `${'word '.repeat(100)}end`);
    const text = (await mcp.instructions({ token })) ?? '';
    expect(text.length).toBeLessThanOrEqual(6000 + POINTER.length + 2);
    for (const line of text.split('\n').filter((line) => line.startsWith('skill-')))
      expect(line).toMatch(/^skill-\d{5}: (word )*word…$/);
  });

  test('the tool carries the list for those that give instructions to no model, and for strangers', async () => {
    await create('skill', 'deploy');
    const has = async (client?: string) =>
      (await mcp.description({ token, ...(client === undefined ? {} : { client }) })).includes(
        'deploy: Does deploy.',
      );
    expect(await has('copilot-cli')).toBe(true);
    expect(await has('claude-ai')).toBe(true);
    expect(await has('nobody-knows-it')).toBe(true);
    expect(await has('claude-code')).toBe(false);
    expect(await has('claude-code (via mcp-remote 0.1.30)')).toBe(false);
    expect(
      (await mcp.rpc('tools/list', {}, { token, revision: '2025-06-18' })).result.tools[0].description,
    ).toContain('deploy: Does deploy.');
  });

  test.each(['copilot-cli', 'claude-ai', 'chatgpt', 'nobody'])(
    'the listing in the description for %s keeps to 1,000 characters, whatever rides behind it',
    async (client) => {
      await createMany(300, 'word '.repeat(200));
      const [listing = ''] = (await mcp.description({ token, client })).split('\n\n<!-- mcp-skill:');
      expect(listing.length).toBeLessThanOrEqual(1000);
      expect(listing).toContain('may be outdated');
    },
  );
});

describe('fitting', () => {
  let device: Awaited<ReturnType<TestMcp['pair']>>;
  let ids: Record<'deploy' | 'critic', string>;

  beforeEach(async () => {
    device = await mcp.pair();
    ids = { deploy: await create('skill', 'deploy'), critic: await create('persona', 'critic') };
  });

  function folder(kind: Kind, parts: Partial<ReportedFolder> = {}): ReportedFolder {
    const [name, path] =
      kind === 'skill'
        ? (['deploy', '/h/.claude/skills'] as const)
        : (['critic', '/h/.claude/agents'] as const);
    const item = {
      item: ids[name],
      kind,
      name,
      state: 'written' as const,
      revision: 1,
      digest: '0'.repeat(64),
    };
    return {
      path,
      kind,
      clients: ['claude-code'],
      state: 'written',
      items: [item],
      gone: [],
      complete: true,
      ...parts,
    };
  }

  async function report(...folders: ReportedFolder[]): Promise<void> {
    const body = { cursor: null, agent_version: '0', folders, dropped: [], events: [] };
    const { status } = await mcp.call('/api/v1/devices/self/report', { method: 'PUT', device, body });
    expect(status).toBe(204);
  }

  /** Names that the block gives, in either handshake. */
  async function listed(headers: Record<string, string> = {}): Promise<string[]> {
    const call = { device, headers: { 'repertoire-client': 'claude-code/2.1.0', ...headers } };
    const modern = await mcp.instructions({ ...call, revision: MODERN });
    expect(await mcp.instructions({ ...call, revision: '2025-11-25' })).toBe(modern);
    return [...(modern ?? '').matchAll(/^(deploy|critic): /gm)].map(([, name]) => name as string);
  }

  test('with both folders written there is no block', async () => {
    await report(folder('skill'), folder('persona'));
    expect(await listed()).toEqual([]);
    expect(
      await mcp.instructions({ device, headers: { 'repertoire-client': 'claude-code/2.1.0' } }),
    ).toBeUndefined();
  });

  test('with only skills written the personas are listed', async () => {
    await report(folder('skill'));
    expect(await listed()).toEqual(['critic']);
  });

  test('served to WSL everything is listed', async () => {
    await report(folder('skill'), folder('persona'));
    expect(await listed({ 'repertoire-wsl': 'Ubuntu' })).toEqual(['deploy', 'critic']);
  });

  test('without a device everything is listed, whatever the headers say', async () => {
    await report(folder('skill'), folder('persona'));
    const call = { token, client: 'claude-code', headers: { 'repertoire-client': 'claude-code/2.1.0' } };
    expect(await mcp.instructions(call)).toContain('deploy: ');
  });

  test('another client on the same device gets everything', async () => {
    await report(folder('skill'), folder('persona'));
    expect(await listed({ 'repertoire-client': 'opencode/1' })).toEqual(['deploy', 'critic']);
    expect(await listed({ 'repertoire-client': 'nobody-knows-it/1' })).toEqual(['deploy', 'critic']);
  });

  test('before the first report, and when a folder failed, everything is listed', async () => {
    expect(await listed()).toEqual(['deploy', 'critic']);
    await report(folder('skill', { state: 'failed', items: [] }), folder('persona'));
    expect(await listed()).toEqual(['deploy']);
  });

  test('an item that is held back is listed although its kind is left out', async () => {
    const [item] = folder('skill').items;
    await report(folder('skill', { items: [{ ...item, state: 'held_back' } as never] }), folder('persona'));
    expect(await listed()).toEqual(['deploy']);
  });

  test('a bridge is recognised by what it says, and its client is seen on the device', async () => {
    await mcp.instructions({ device, headers: { 'repertoire-client': '@cline/core/0.0.0' } });
    await mcp.settle();
    const { json } = await mcp.call('/api/v1/clients', { token });
    expect(json.clients).toContainEqual(
      expect.objectContaining({ name: '@cline/core', version: '0.0.0', device: device.id }),
    );
  });
});
