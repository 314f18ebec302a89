import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { beforeEach, describe, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { items } from '../../../worker/db/tables/registry.ts';
import { Context } from '../../../worker/registry/context.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { corpusItems, hasCorpus } from '../../schema/corpus.ts';
import { ORIGIN } from '../api/harness.ts';
import { LEGACY, MODERN, openTestMcp, type TestMcp } from './harness.ts';

let mcp: TestMcp;
let token: string;

beforeEach(async () => {
  mcp = await openTestMcp();
  token = await mcp.token();
});

async function create(body: object): Promise<void> {
  const { status, text } = await mcp.call('/api/v1/items', { method: 'POST', token, body });
  expect([status, status === 201 ? '' : text]).toEqual([201, '']);
}

/** The official client, straight into the Worker's handler; it checks digests, sizes and front matter by itself. */
async function skillsClient(): Promise<SkillsClient> {
  const client = new Client(
    { name: 'host', version: '1' },
    { versionNegotiation: { mode: { pin: MODERN } } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
      fetch: async (url, init) => mcp.app.request(String(url), init, undefined, EXECUTION),
    }),
  );
  return new SkillsClient(client);
}

const EXECUTION = {
  waitUntil: (work: Promise<unknown>) => void work,
  passThroughOnException() {},
  props: {},
};
const read = async (uri: string) => (await mcp.rpc('resources/read', { uri }, { token })).result?.contents[0];

const TRICKY = {
  'SKILL.md': {
    text: '\uFEFF---\r\nname: tricky\r\ndescription: "Odd: bytes"\r\nmetadata:\r\n  version: "1.0"\r\n---\r\n\r\n# Títle\r\n\r\nno newline at the end',
  },
  'references/Q & A#1.md': { text: 'Lines\rof\r\nevery\nkind\n\n' },
  'references/empty.txt': { text: '' },
  'scripts/run.sh': { text: '#!/bin/sh\n', executable: true },
  'logo.png': { base64: 'iVBORw0KGgoA/w==' },
};

test('the tool, the API and the extension give the same bytes', async () => {
  await create({ kind: 'skill', files: TRICKY });
  const host = await skillsClient();
  const { skills } = await host.list();
  expect(skills).toHaveLength(1);
  const [skill] = skills;
  if (!skill || skill.resources === 'dynamic') throw new Error('no manifest');
  expect(skill.uri).toBe('skill://tricky/SKILL.md');
  expect(skill.frontmatter).toEqual({
    name: 'tricky',
    description: 'Odd: bytes',
    metadata: { version: '1.0' },
  });
  expect(skill.resources).toHaveLength(Object.keys(TRICKY).length);
  for (const [path, content] of Object.entries(TRICKY)) {
    const bytes = 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64');
    const uri = `skill://tricky/${path.split('/').map(encodeURIComponent).join('/')}`;
    const file = await host.read(skill, uri);
    expect(file.verified).toBe(true);
    expect(Buffer.from(file.bytes)).toEqual(bytes);
    const { json } = await mcp.tool('skills', { action: 'get', name: 'tricky', path }, { token });
    expect(Buffer.from(json.text ?? json.base64, 'text' in json ? 'utf8' : 'base64')).toEqual(bytes);
    const api = await mcp.app.request(
      `${ORIGIN}/api/v1/blobs/${await sha256(bytes)}`,
      { headers: { authorization: `Bearer ${token}` } },
      undefined,
      EXECUTION,
    );
    expect(Buffer.from(await api.arrayBuffer())).toEqual(bytes);
  }
});

test.each([...LEGACY, MODERN])('%s: skills/get, reading and folders', async (revision) => {
  await create({ kind: 'skill', files: TRICKY });
  const call = { token, revision };
  const { result } = await mcp.rpc('skills/get', { uri: 'skill://tricky/SKILL.md' }, call);
  expect(result.skill.uri).toBe('skill://tricky/SKILL.md');
  expect('ttlMs' in result).toBe(revision === MODERN);
  const folder = async (uri: string) =>
    (await mcp.rpc('resources/directory/read', { uri }, call)).result?.resources;
  expect(await folder('skill://tricky')).toEqual([
    { uri: 'skill://tricky/SKILL.md', name: 'SKILL.md', mimeType: 'text/markdown' },
    { uri: 'skill://tricky/logo.png', name: 'logo.png' },
    { uri: 'skill://tricky/references', name: 'references', mimeType: 'inode/directory' },
    { uri: 'skill://tricky/scripts', name: 'scripts', mimeType: 'inode/directory' },
  ]);
  expect((await folder('skill://tricky/references')).map(({ name }: { name: string }) => name)).toEqual([
    'Q & A#1.md',
    'empty.txt',
  ]);
  for (const uri of ['skill://tricky/SKILL.md', 'skill://tricky/nothing', 'skill://other', 'skill://tricky/'])
    expect((await mcp.rpc('resources/directory/read', { uri }, call)).error?.code).toBe(-32602);
});

test('what is disabled, removed, of another account or not representable is absent and refused', async () => {
  await create({ kind: 'skill', name: 'on', description: 'd', instructions: 'i' });
  await create({ kind: 'skill', name: 'off', description: 'd', instructions: 'i' });
  await create({ kind: 'skill', name: 'gone', description: 'd', instructions: 'i' });
  await create({
    kind: 'skill',
    fallback_name: 'odd',
    files: { 'SKILL.md': { text: '# no front matter\n' } },
  });
  await create({
    kind: 'skill',
    files: { 'SKILL.md': { text: `---\nname: wordy\ndescription: ${'long '.repeat(300)}\n---\n` } },
  });
  await mcp.call('/api/v1/items/skill/off', {
    method: 'PATCH',
    token,
    body: { expected_revision: 1, state: 'disabled' },
  });
  await mcp.call('/api/v1/items/skill/gone?expected_revision=1', { method: 'DELETE', token });
  const { result } = await mcp.rpc('skills/list', {}, { token });
  expect(result.skills.map(({ uri }: { uri: string }) => uri)).toEqual(['skill://on/SKILL.md']);
  expect((await mcp.rpc('resources/list', {}, { token })).result.resources).toHaveLength(1);
  for (const name of ['off', 'gone', 'odd', 'wordy', 'never']) {
    const uri = `skill://${name}/SKILL.md`;
    expect((await mcp.rpc('skills/get', { uri }, { token })).error?.code).toBe(-32602);
    expect((await mcp.rpc('resources/read', { uri }, { token })).error?.code).toBe(-32602);
    expect(
      (await mcp.rpc('resources/directory/read', { uri: `skill://${name}` }, { token })).error?.code,
    ).toBe(-32602);
  }
  const stranger = await mcp.token(['skills:read'], await mcp.addAccount());
  expect((await mcp.rpc('skills/list', {}, { token: stranger })).result.skills).toEqual([]);
  expect(
    (await mcp.rpc('resources/read', { uri: 'skill://on/SKILL.md' }, { token: stranger })).error?.code,
  ).toBe(-32602);
});

test('the lists come in pages of 100, each entry once, in one order', async () => {
  const ctx = async () =>
    new Context(
      { db: mcp.db, now: () => mcp.clock.now, notify: async () => {}, defer: (work) => void work },
      { type: 'token', hash: await sha256(token) },
    );
  for (let i = 0; i < 205; i++) {
    const kind = i % 2 === 0 ? 'skill' : 'persona';
    await createItem(await ctx(), {
      kind,
      name: `item-${(i * 7919) % 1000}`,
      description: 'd',
      instructions: `${i}`,
    });
  }
  for (const method of ['skills/list', 'resources/list'] as const) {
    const uris: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const { result } = await mcp.rpc(method, cursor === undefined ? {} : { cursor }, { token });
      const page: { uri: string }[] = result.skills ?? result.resources;
      uris.push(...page.map(({ uri }) => uri));
      sizes.push(page.length);
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    expect(sizes).toEqual([100, 100, 5]);
    expect(new Set(uris).size).toBe(205);
    const personas = uris.filter((uri) => uri.startsWith('skill://personas/'));
    expect(uris.slice(-personas.length)).toEqual(personas);
    expect((await mcp.rpc(method, { cursor: 'nonsense' }, { token })).error?.code).toBe(-32602);
  }
  expect((await (await skillsClient()).list()).skills).toHaveLength(205);
});

describe('a persona is a skill that adopts it', () => {
  const source =
    '---\nname: critic\ndescription: "Judges \\"all\\""\ntools: Read, Grep\nmodel: opus\n---\n\nYou judge.\n\nHarshly.\n';

  test('generated once and for all, with its source beside it', async () => {
    await create({
      kind: 'persona',
      files: { 'PERSONA.md': { text: source }, 'notes/a.md': { text: 'A' }, 'SKILL.md': { text: 'its own' } },
    });
    const host = await skillsClient();
    const { skill } = await host.get('skill://personas/critic/SKILL.md');
    expect(skill.frontmatter).toEqual({
      name: 'critic',
      description: 'Judges "all"',
      metadata: { kind: 'persona' },
    });
    expect((await host.read(skill)).text).toBe(
      [
        '---',
        'name: critic',
        'description: "Judges \\"all\\""',
        'metadata:',
        '  kind: persona',
        '---',
        '',
        'Take on the persona critic until the user ends it or names another.',
        '',
        'Its PERSONA.md restricts tools: read there to what, and keep to that.',
        '',
        'You judge.',
        '',
        'Harshly.',
        '',
      ].join('\n'),
    );
    expect((await host.read(skill, 'skill://personas/critic/PERSONA.md')).text).toBe(source);
    expect((await host.readDirectory('skill://personas/critic')).resources.map(({ name }) => name)).toEqual([
      'PERSONA.md',
      'SKILL.md',
      'notes',
    ]);
    expect((await host.list()).skills).toEqual([skill]);
  });

  test('a name may be both: the URI tells them apart, and a skill called personas too', async () => {
    await create({ kind: 'persona', name: 'critic', description: 'p', instructions: 'p' });
    await create({ kind: 'skill', name: 'critic', description: 's', instructions: 's' });
    await create({
      kind: 'skill',
      files: {
        'SKILL.md': { text: '---\nname: personas\ndescription: s\n---\n' },
        'critic/SKILL.md': { text: 'inner' },
      },
    });
    expect((await read('skill://critic/SKILL.md')).text).toContain('description: "s"');
    expect((await read('skill://personas/critic/SKILL.md')).text).toContain('Take on the persona critic');
    expect((await read('skill://skills/personas/critic/SKILL.md')).text).toBe('inner');
    expect((await (await skillsClient()).list()).skills).toHaveLength(3);
  });

  test('a very long one is pointed at, not copied', async () => {
    const text = `---\nname: long\ndescription: d\n---\n${'word '.repeat(20_000)}`;
    await create({ kind: 'persona', files: { 'PERSONA.md': { text } } });
    const host = await skillsClient();
    const { skills } = await host.list();
    const made = await host.read(skills[0] as never);
    expect(made.text).toContain('Who it is stands in PERSONA.md');
    expect((await host.read(skills[0] as never, 'skill://personas/long/PERSONA.md')).text).toBe(text);
  });
});

describe.skipIf(!hasCorpus)('the corpus', () => {
  test('every item that the extension can represent comes through it byte for byte', {
    timeout: 300_000,
  }, async () => {
    const taken = new Map<string, Uint8Array>();
    for (const { kind, fallbackName, bytes } of corpusItems()) {
      const file = kind === 'skill' ? 'SKILL.md' : 'PERSONA.md';
      const body = {
        kind,
        fallback_name: fallbackName,
        files: { [file]: { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) } },
      };
      const { status, json } = await mcp.call('/api/v1/items', { method: 'POST', token, body });
      // Names repeat across the corpus's folders.
      if (status === 201) taken.set(`${kind} ${json.item.name}`, bytes);
      else expect([status, json.code]).toEqual([409, 'name_taken']);
    }
    const rows = await mcp.db.select().from(items);
    const representable = rows.filter(
      ({ flags }) => !flags.some(({ code }) => code === 'not-in-skills-extension'),
    );
    expect(rows.length).toBe(taken.size);
    const host = await skillsClient();
    const { skills } = await host.list();
    expect(skills).toHaveLength(representable.length);
    expect(skills.length).toBeGreaterThan(200);
    for (const skill of skills) {
      const persona = skill.uri.startsWith('skill://personas/');
      expect((await host.read(skill)).verified).toBe(true);
      const main = persona ? skill.uri.replace(/SKILL\.md$/, 'PERSONA.md') : skill.uri;
      const { bytes } = await host.read(skill, main);
      const source = taken.get(`${persona ? 'persona' : 'skill'} ${skill.frontmatter.name}`);
      expect(Buffer.compare(bytes, source as Uint8Array)).toBe(0);
    }
  });
});
