import { beforeEach, describe, expect, test } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { sha256 } from '../../../schema/digest.ts';
import { tokens } from '../../../worker/db/tables/programs.ts';
import { listEvents } from '../../../worker/registry/account-events.ts';
import { Context } from '../../../worker/registry/context.ts';
import { listTokens, makeToken, revokeToken } from '../../../worker/registry/tokens.ts';
import { openTestRegistry, type TestRegistry } from './harness.ts';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
});

const DAY_MS = 86_400_000;
const body = { name: ' backup ', scopes: ['skills:read', 'skills:read'] as Scope[], days: 7 };

async function as(token: string): Promise<Context> {
  return new Context(registry.around, { type: 'token', hash: await sha256(token) });
}

test('a token is in one answer, is kept as its SHA-256, and works until it ends', async () => {
  const session = await registry.session();
  const { token, made } = await makeToken(session(), body);
  expect(token).toMatch(/^sk_[\w-]{43}$/);
  expect(made).toEqual({
    id: expect.any(String),
    name: 'backup',
    scopes: ['skills:read'],
    created_at: registry.clock.now,
    expires_at: registry.clock.now + 7 * DAY_MS,
    last_used_at: null,
  });
  const [row] = await registry.db.select().from(tokens);
  expect(row?.hash).toBe(await sha256(token));
  expect(JSON.stringify(row)).not.toContain(token);
  expect(await (await as(token)).enter()).toMatchObject({ type: 'token', name: 'backup', readOnly: true });
  expect((await listTokens(session())).tokens).toMatchObject([{ ...made, last_used_at: registry.clock.now }]);
  registry.clock.now += 7 * DAY_MS;
  await expect((await as(token)).enter()).rejects.toMatchObject({ code: 'unauthorized' });
});

test('one that is made by a token ends no later than its maker', async () => {
  const session = await registry.session();
  const scopes: Scope[] = ['skills:read', 'devices:write'];
  const ending = async (days: number | null, asked: number | null) => {
    const { token } = await makeToken(session(), { name: 'maker', scopes, days });
    const { made } = await makeToken(await as(token), { ...body, days: asked });
    return made.expires_at === null ? null : (made.expires_at - registry.clock.now) / DAY_MS;
  };
  expect(await ending(30, null)).toBe(30);
  expect(await ending(30, 90)).toBe(30);
  expect(await ending(30, 7)).toBe(7);
  expect(await ending(null, 7)).toBe(7);
  expect(await ending(null, null)).toBeNull();
});

test('one that was revoked is refused with its next request; repeating it is no error; both are seen', async () => {
  const session = await registry.session();
  const { token, made } = await makeToken(session(), { ...body, days: null });
  expect(made.expires_at).toBeNull();
  for (let i = 0; i < 2; i++) await revokeToken(session(), made.id);
  await expect((await as(token)).enter()).rejects.toMatchObject({ code: 'unauthorized' });
  expect((await listTokens(session())).tokens).toEqual([]);
  const { events } = await listEvents(session());
  expect(events.map(({ type, details }) => [type, details]).sort()).toEqual([
    ['token_made', { name: 'backup', scopes: 'skills:read' }],
    ['token_revoked', { name: 'backup' }],
  ]);
});

describe('no token is made', () => {
  test('by a session without a fresh passkey', async () => {
    const session = await registry.session({ verifiedAt: registry.clock.now - 300_000 });
    await expect(makeToken(session(), body)).rejects.toMatchObject({ code: 'passkey_required' });
  });

  test('by a caller who may not say who gets in', async () => {
    const scopes = Scope.options.filter((scope) => scope !== 'devices:write');
    const refused = { code: 'insufficient_scope', details: { scopes: ['devices:write'] } };
    await expect(makeToken(await registry.ctx(scopes), body)).rejects.toMatchObject(refused);
    await expect(listTokens(await registry.ctx(scopes))).rejects.toMatchObject(refused);
    await expect(revokeToken(await registry.ctx(scopes), 'x')).rejects.toMatchObject(refused);
  });

  test('that may do more than its maker', async () => {
    const ctx = await registry.ctx(['devices:write', 'skills:read']);
    await expect(makeToken(ctx, { ...body, scopes: ['skills:write'] })).rejects.toMatchObject({
      code: 'insufficient_scope',
      details: { scopes: ['skills:write'] },
    });
    expect(await makeToken(ctx, body)).toMatchObject({ made: { scopes: ['skills:read'] } });
  });

  test('with a name that cannot be read', async () => {
    const session = await registry.session();
    for (const name of [' ', 'a\u202Eb', 'a\nb'])
      await expect(makeToken(session(), { ...body, name })).rejects.toMatchObject({ code: 'invalid_input' });
    expect(await registry.db.select().from(tokens)).toEqual([]);
  });

  test('by a session that ended a moment ago', async () => {
    const ctx = (await registry.session())();
    await ctx.enter();
    await registry.client.execute('update sessions set revoked_at = 1');
    await expect(makeToken(ctx, body)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await registry.db.select().from(tokens)).toEqual([]);
  });
});

test("another account's token is not there", async () => {
  const session = await registry.session();
  const { made, token } = await makeToken(session(), body);
  await expect(revokeToken(await registry.stranger(), made.id)).rejects.toMatchObject({ code: 'not_found' });
  expect((await listTokens(await registry.stranger())).tokens.map(({ id }) => id)).not.toContain(made.id);
  expect(await (await as(token)).enter()).toMatchObject({ id: made.id });
});
