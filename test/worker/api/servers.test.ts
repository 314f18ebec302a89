import { beforeEach, describe, expect, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { servers as serverTable } from '../../../worker/db/tables/servers.ts';
import { requirePublicAddress } from '../../../worker/registry/server-address.ts';
import { createVault } from '../../../worker/registry/vault.ts';
import { openTestApi, type TestApi } from './harness.ts';

let api: TestApi;
let token: string;

beforeEach(async () => {
  api = await openTestApi();
  token = await api.token();
});

const call = (method: string, path: string, body?: unknown, bearer = token) =>
  api.call(`/api/v1/servers${path}`, { method, token: bearer, ...(body === undefined ? {} : { body }) });

const example = { name: 'docs', upstream: 'https://mcp.example.com/mcp' };
const secret = 'not-to-be-told-again-7';

test('a server is added, listed, changed and removed', async () => {
  const { status, json, headers } = await call('POST', '', { ...example, manifest: 'skills: true\n' });
  expect(status).toBe(201);
  expect(headers.get('location')).toBe('/api/v1/servers/docs');
  expect(json).toEqual({
    name: 'docs',
    url: 'http://localhost:8787/mcp/docs',
    upstream: 'https://mcp.example.com/mcp',
    manifest: 'skills: true\n',
    in_main: false,
    credential: 'none',
    connected: false,
    listed: null,
    skills: [],
    updated_at: api.clock.now,
  });
  expect((await call('GET', '')).json).toEqual({ servers: [json] });
  expect((await call('PATCH', '/docs', { in_main: true, manifest: '' })).json).toMatchObject({
    in_main: true,
    manifest: '',
  });
  expect((await call('POST', '', example)).problem.code).toBe('name_taken');
  expect((await call('DELETE', '/docs')).status).toBe(204);
  expect((await call('GET', '/docs')).status).toBe(404);
});

test('two accounts may use one name, and see their own only', async () => {
  const stranger = await api.token(Scope.options, await api.addAccount());
  await call('POST', '', { ...example, credential: { type: 'bearer', token: secret } });
  expect((await call('GET', '/docs', undefined, stranger)).status).toBe(404);
  expect(
    (await call('POST', '', { ...example, upstream: 'https://other.example.com/' }, stranger)).status,
  ).toBe(201);
  expect((await call('GET', '/docs')).json.upstream).toBe(example.upstream);
  const mcp = await api.call('/mcp/elsewhere', { method: 'POST', token: stranger, body: {} });
  expect(mcp.status).toBe(404);
});

test('each server is a resource of its own, and says so to who comes without a credential', async () => {
  const { status, headers } = await api.call('/mcp/docs', { method: 'POST', body: {} });
  expect(status).toBe(401);
  const metadata = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? '';
  expect(metadata).toBe('http://localhost:8787/.well-known/oauth-protected-resource/mcp/docs');
  expect((await api.call(metadata)).json.resource).toBe('http://localhost:8787/mcp/docs');
});

describe('a credential', () => {
  test('is in no answer and not to be read in the database', async () => {
    await call('POST', '', { ...example, credential: { type: 'bearer', token: secret } });
    await call('PATCH', '/docs', { credential: { type: 'header', name: 'x-key', value: secret } });
    expect((await call('GET', '/docs')).json.credential).toBe('header');
    const [row] = await api.db.select().from(serverTable);
    expect(row?.credential).not.toBeNull();
    expect(JSON.stringify(row)).not.toContain(secret);
    for (const text of api.seen.texts) expect(text).not.toContain(secret);
  });

  test('opens for its own server only, and under its own secret only', async () => {
    const vault = createVault('a secret key of more than 32 characters');
    const sealed = await vault.seal(secret, 'server a');
    expect(await vault.open(sealed, 'server a')).toBe(secret);
    expect(await vault.seal(secret, 'server a')).not.toBe(sealed);
    await expect(vault.open(sealed, 'server b')).rejects.toMatchObject({ code: 'unavailable' });
    const other = createVault('another secret key of more than 32 characters');
    await expect(other.open(sealed, 'server a')).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('does not go along to a new address', async () => {
    await call('POST', '', { ...example, credential: { type: 'bearer', token: secret } });
    const moved = { upstream: 'https://thief.example.com/mcp' };
    expect((await call('PATCH', '/docs', moved)).problem).toMatchObject({
      code: 'invalid_input',
      details: { field: 'credential' },
    });
    expect((await call('PATCH', '/docs', { ...moved, credential: { type: 'none' } })).json).toMatchObject({
      upstream: moved.upstream,
      credential: 'none',
    });
  });

  test.each([
    { type: 'bearer', token: 'two words\n' },
    { type: 'header', name: 'a b', value: 'x' },
    { type: 'header', name: 'Mcp-Session-Id', value: 'x' },
    { type: 'header', name: 'HOST', value: 'x' },
    { type: 'header', name: 'content-length', value: '0' },
    { type: 'basic', user: 'x' },
    { type: 'bearer' },
  ])('%j is refused', async (credential) => {
    expect((await call('POST', '', { ...example, credential })).problem.code).toBe('invalid_input');
  });

  test('of a kind that there is not is answered with those that there are', async () => {
    const { problem } = await call('POST', '', { ...example, credential: { type: 'basic' } });
    expect(problem.detail).toBe(
      'credential.type in the body is not as expected: it is one of none, bearer, header, oauth.',
    );
  });

  test('has no place in a manifest', async () => {
    const leaked = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    expect(
      (await call('POST', '', { ...example, manifest: `instructions: use ${leaked}\n` })).problem.code,
    ).toBe('credential');
  });
});

describe('a manifest in the cloud', () => {
  test.each([
    ['colour: red\n', /colour/],
    ['tools:\n  - cypher: MATCH (n) RETURN n\n    name: q\n', /cypher/],
    ['tools:\n  - python: print(1)\n    name: q\n', /python/],
    ['skills: ./pack\n', /registry|cloud|device/],
    ['skills: [true, ./pack]\n', /skills\[1\]/],
    ['command: node\n', /repertoire serve/],
    ['url: https://other.example.com/\n', /address/],
    ['skills_delivery: sometimes\n', /eager, lazy or auto/],
    [': : :\n  - [', /YAML/],
  ])('%j is refused in one sentence', async (manifest, why) => {
    const { problem } = await call('POST', '', { ...example, manifest });
    expect(problem).toMatchObject({ code: 'invalid_input', details: { field: 'manifest' } });
    expect(problem.detail).toMatch(why);
    expect(problem.detail.trim().split('\n')).toHaveLength(1);
  });
});

describe('an address', () => {
  test.each([
    'http://mcp.example.com/mcp',
    'https://127.0.0.1/mcp',
    'https://localhost/mcp',
    'https://a.localhost/mcp',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://10.1.2.3/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest',
    'https://100.64.0.1/',
    'https://0.0.0.0/',
    'https://224.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://[2002:7f00:1::]/',
    'https://[64:ff9b::a00:1]/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://localhost../',
    'https://127.0.0.1./',
    'https://127.1/',
    'https://0177.0.0.1/',
    'https://0/',
    'https://①②⑦.0.0.1/',
    'https://1２7。0。0。1/',
    'https://255.255.255.255/',
    'https://[::]/',
    'https://[::127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
    'https://[ff02::1]/',
    'https://[2001::1]/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://localhost.localdomain/',
    'https://intranet/',
    'https://host.internal./',
    'https://user:word@mcp.example.com/',
    'https://mcp.example.com/#part',
    'file:///etc/passwd',
    'mcp.example.com',
  ])('%s is refused', (address) => {
    expect(() => requirePublicAddress(address, { loopback: false })).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    );
  });

  test.each(['https://mcp.example.com/mcp?x=1', 'https://8.8.8.8/', 'https://[2606:4700::1111]/'])(
    '%s is taken',
    (address) => {
      expect(requirePublicAddress(address, { loopback: false }).href).toBe(address);
    },
  );

  test('of this machine is taken where the setting says so, and no other private one', () => {
    for (const address of ['http://127.0.0.1:3001/mcp', 'http://localhost/', 'http://[::1]:8/'])
      expect(requirePublicAddress(address, { loopback: true }).href).toBe(address);
    for (const address of ['http://10.0.0.1/', 'https://192.168.0.1/', 'http://mcp.example.com/'])
      expect(() => requirePublicAddress(address, { loopback: true })).toThrow();
  });
});

describe('skills that are declared for one server', () => {
  const text = '---\nname: how\ndescription: When.\nreferences_tools: [find]\n---\n\nSo.\n';

  test('are put, read, listed by file name and removed', async () => {
    await call('POST', '', example);
    expect((await call('PUT', '/docs/skills/how.md', { text })).json.skills).toEqual(['how.md']);
    expect((await call('PUT', '/docs/skills/a.md', { text })).json.skills).toEqual(['a.md', 'how.md']);
    expect((await call('GET', '/docs/skills/how.md')).text).toBe(text);
    expect((await call('DELETE', '/docs/skills/a.md')).status).toBe(204);
    expect((await call('DELETE', '/docs/skills/a.md')).status).toBe(404);
  });

  test('are refused when they could not ride, with the reason', async () => {
    await call('POST', '', example);
    for (const [broken, why] of [
      ['no front matter', /front matter/],
      ['---\ndescription: TRIGGER: now\nname: x\n---\n', /quot/],
      ['---\nname: [a]\n---\n', /name/],
    ] as const) {
      const { problem } = await call('PUT', '/docs/skills/x.md', { text: broken });
      expect(problem.code).toBe('invalid_front_matter');
      expect(problem.detail).toMatch(why);
    }
    expect((await call('PUT', '/docs/skills/..md', { text })).problem.code).toBe('invalid_path');
    expect((await call('PUT', '/docs/skills/x.txt', { text })).problem.code).toBe('invalid_path');
    const long = `${text}${'x'.repeat(70_000)}`;
    expect((await call('PUT', '/docs/skills/x.md', { text: long })).problem.code).toBe('too_large');
  });
});

test('an account has fifty servers at most', async () => {
  for (let i = 0; i < 50; i++) await call('POST', '', { ...example, name: `s${i}` });
  expect((await call('POST', '', { ...example, name: 'one-more' })).problem.code).toBe('too_large');
});
