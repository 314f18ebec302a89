import { beforeEach, describe, expect, test } from 'vitest';
import { TOOLS } from '../../../schema/tools.ts';
import { openTestMcp, type TestMcp } from './harness.ts';

let mcp: TestMcp;
let token: string;

beforeEach(async () => {
  mcp = await openTestMcp();
  token = await mcp.token();
});

const skills = (args: object) => mcp.tool('skills', args, { token });
const edit = (args: object) => mcp.tool('skill_edit', args, { token });

const deploy = { action: 'create', name: 'deploy', description: 'Ships it.', instructions: 'Do it.\n' };

test('tools come in one order, with every hint, and schemas that stay the same', async () => {
  const { result: first } = await mcp.rpc('tools/list', {}, { token });
  await edit(deploy);
  const { result } = await mcp.rpc('tools/list', {}, { token });
  expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(['skills', 'skill_edit']);
  expect(result.tools[0].annotations).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  });
  expect(result.tools[1].annotations).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  });
  expect(result.tools[0]._meta).toEqual({ 'anthropic/alwaysLoad': true });
  expect(result.tools[1].description.startsWith(TOOLS.skill_edit.description)).toBe(true);
  for (const i of [0, 1]) expect(result.tools[i].inputSchema).toEqual(first.tools[i].inputSchema);
  expect(result).toMatchObject({ ttlMs: 5000, cacheScope: 'private' });
});

test('create, get, edit by span, disable: each says what the item now is', async () => {
  expect((await edit(deploy)).json).toMatchObject({ name: 'deploy', revision: 1, files: ['SKILL.md'] });
  const { json: written } = await skills({ action: 'get', name: 'deploy' });
  const { json: edited } = await edit({
    action: 'edit',
    name: 'deploy',
    expected_revision: 1,
    description: 'Ships all.',
  });
  expect(edited).toMatchObject({ revision: 2, replaced: 1, description: 'Ships all.' });
  const { json: read } = await skills({ action: 'get', name: 'deploy' });
  expect(read.text.replace('Ships all.', 'Ships it.')).toBe(written.text);
  expect((await edit({ action: 'edit', name: 'deploy', state: 'disabled' })).json).toMatchObject({
    state: 'disabled',
  });
  expect((await skills({ action: 'list' })).json.items).toMatchObject([
    { name: 'deploy', state: 'disabled' },
  ]);
});

test('files are added, replaced and removed, and come back as they are', async () => {
  await edit({
    ...deploy,
    instructions: undefined,
    description: undefined,
    files: { 'SKILL.md': { text: '---\nname: deploy\ndescription: d\n---\n' }, 'a.md': { text: 'A' } },
  });
  const files = {
    'a.md': null,
    'run.sh': { text: '#!/bin/sh\n', executable: true },
    'logo.png': { base64: 'iVBORwAA' },
  };
  expect((await edit({ action: 'edit', name: 'deploy', files })).json.files).toEqual([
    'SKILL.md',
    'logo.png',
    'run.sh',
  ]);
  expect((await skills({ action: 'get', name: 'deploy', path: 'logo.png' })).json).toMatchObject({
    base64: 'iVBORwAA',
  });
  const { isError, text } = await skills({ action: 'get', name: 'deploy', path: 'a.md' });
  expect([isError, text]).toEqual([
    true,
    'The skill deploy has no file a.md; get the item to see its files.',
  ]);
});

test('a file of 30,000 characters comes in pages that join to its bytes', async () => {
  const body = Array.from({ length: 3000 }, (_, i) => `line ${String(i).padStart(4, '0')}`).join('\n');
  const whole = `---\nname: long\ndescription: d\n---\n${body}`;
  await edit({ action: 'create', files: { 'SKILL.md': { text: whole } } });
  const { json: first } = await skills({ action: 'get', name: 'long' });
  expect(first.text).toHaveLength(20_000);
  const { json: second } = await skills({ action: 'get', name: 'long', start: first.next_start });
  expect(second.next_start).toBeUndefined();
  expect(first.text + second.text).toBe(whole);
});

test('a name that is both a skill and a persona is refused until the kind is given', async () => {
  await edit(deploy);
  await edit({ ...deploy, kind: 'persona', description: 'Is a deployer.' });
  expect(await skills({ action: 'get', name: 'deploy' })).toMatchObject({
    isError: true,
    text: 'deploy is both a skill and a persona; say which with kind.',
  });
  expect((await skills({ action: 'get', name: 'deploy', kind: 'persona' })).json.path).toBe('PERSONA.md');
  expect((await edit({ action: 'edit', name: 'deploy', description: 'x' })).isError).toBe(true);
});

test('a credential is refused with rule, file and line, never its value', async () => {
  const secret = `ghp_${'k7Qz3Vb9Tn2Xw5Rm8Lp4Js6Hd1Fg0YcEuAoB'}`;
  const { isError, text } = await edit({ ...deploy, instructions: `line\nexport T=${secret}\n` });
  expect(isError).toBe(true);
  expect(text).toMatch(
    /^Nothing was stored, because a credential stands in SKILL\.md line \d+ \(rule [\w-]+\)/,
  );
  expect(mcp.seen.texts.join()).not.toContain(secret);
  expect((await skills({ action: 'list' })).json.items).toEqual([]);
});

test('a stale edit is refused with the current revision, and an item cannot be removed', async () => {
  await edit(deploy);
  await edit({ action: 'edit', name: 'deploy', description: 'two' });
  const stale = await edit({ action: 'edit', name: 'deploy', description: 'mine', expected_revision: 1 });
  expect(stale.text).toContain('deploy is at revision 2');
  for (const args of [
    { action: 'remove', name: 'deploy' },
    { action: 'edit', name: 'deploy', state: 'removed' },
  ]) {
    const { isError, text } = await edit(args);
    expect([isError, text]).toEqual([
      true,
      expect.stringMatching(/^Nothing was done, because the arguments do not fit: /),
    ]);
  }
  expect((await skills({ action: 'list' })).json.items).toMatchObject([
    { name: 'deploy', description: 'two' },
  ]);
});

test('search finds text, guidelines are read, a removed item is gone', async () => {
  await edit({ ...deploy, instructions: 'The zebra crossing.\n' });
  expect((await skills({ action: 'search', query: 'zebra' })).json.hits).toMatchObject([
    { name: 'deploy', path: 'SKILL.md' },
  ]);
  await mcp.call('/api/v1/guidelines', { method: 'PUT', token, body: { text: 'Be brief.' } });
  expect((await skills({ action: 'guidelines' })).json).toEqual({ guidelines: 'Be brief.' });
  await mcp.call('/api/v1/items/skill/deploy?expected_revision=1', { method: 'DELETE', token });
  expect((await skills({ action: 'list' })).json.items).toEqual([]);
  expect((await skills({ action: 'search', query: 'zebra' })).json.hits).toEqual([]);
  expect((await skills({ action: 'get', name: 'deploy' })).text).toContain(
    'There is no skill or persona named deploy',
  );
});

describe('reading only', () => {
  test('a token without skills:write is not shown skill_edit, and 403 names what it needs', async () => {
    const reader = await mcp.token(['skills:read']);
    const { result } = await mcp.rpc('tools/list', {}, { token: reader });
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(['skills']);
    for (const revision of ['2025-06-18', '2026-07-28']) {
      const answer = await mcp.rpc(
        'tools/call',
        { name: 'skill_edit', arguments: deploy },
        { token: reader, revision },
      );
      expect(answer.status).toBe(403);
      expect(answer.headers.get('www-authenticate')).toMatch(
        /^Bearer error="insufficient_scope".*scope="skills:read skills:write"/,
      );
    }
    expect((await skills({ action: 'list' })).json.items).toEqual([]);
  });

  test('a token that may not even read gets 403 in the handshake', async () => {
    const other = await mcp.token(['devices:write']);
    expect((await mcp.rpc('server/discover', {}, { token: other })).status).toBe(403);
    expect((await mcp.rpc('tools/list', {}, { token: other })).status).toBe(403);
  });
});

test('writes carry the name of the client that made them', async () => {
  await mcp.tool('skill_edit', deploy, { token, client: 'claude-code' });
  const { json } = await mcp.call('/api/v1/items/skill/deploy/history', { token });
  expect(json.revisions[0].author).toMatchObject({ type: 'token', client: 'claude-code' });
});

test('an unknown tool is a protocol error', async () => {
  const { error } = await mcp.rpc('tools/call', { name: 'other', arguments: {} }, { token });
  expect(error).toMatchObject({ code: -32602, message: 'There is no tool named other.' });
});
