import { beforeEach, describe, expect, test } from 'vitest';
import { sessions } from '../../../worker/db/tables/people.ts';
import type { Context } from '../../../worker/registry/context.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { removeItem } from '../../../worker/registry/remove.ts';
import { restoreItem } from '../../../worker/registry/restore.ts';
import { openTestRegistry, type TestRegistry } from './harness.ts';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
  for (let i = 1; i <= 14; i++) {
    const files = { name: `s${i}`, description: 'd', instructions: 'i' };
    await createItem(await registry.ctx(), { kind: 'skill', ...files });
  }
});

const remove = (ctx: Context, i: number, revision = 1) =>
  removeItem(ctx, { kind: 'skill', name: `s${i}` }, revision);

async function removed(): Promise<number> {
  const { rows } = await registry.client.execute("select count(*) as n from items where state = 'removed'");
  return Number(rows[0]?.n);
}

describe('a session whose passkey was not checked lately', () => {
  let session: () => Context;

  beforeEach(async () => {
    session = await registry.session({ verifiedAt: registry.clock.now - 300_000 });
  });

  test('removes ten items in ten minutes, and no eleventh until the passkey was checked', async () => {
    for (let i = 1; i <= 10; i++) await remove(session(), i);
    await expect(remove(session(), 11)).rejects.toMatchObject({ code: 'passkey_required' });
    expect(await removed()).toBe(10);
    await registry.db.update(sessions).set({ verifiedAt: registry.clock.now });
    for (let i = 11; i <= 14; i++) await remove(session(), i);
    expect(await removed()).toBe(14);
  });

  test('of many at once ten go', async () => {
    const codes = await Promise.all(
      Array.from({ length: 14 }, (_, i) =>
        remove(session(), i + 1).then(
          () => 'removed',
          ({ code }) => code,
        ),
      ),
    );
    expect(codes.sort()).toEqual([...Array(4).fill('passkey_required'), ...Array(10).fill('removed')]);
    expect(await removed()).toBe(10);
  });

  test('may go on later, and what it restores counts as removed all the same', async () => {
    for (let i = 0; i < 5; i++) {
      const { item } = await remove(session(), 1, 1 + i);
      await restoreItem(session(), { kind: 'skill', name: 's1' }, { expected_revision: item.revision });
    }
    for (let i = 2; i <= 6; i++) await remove(session(), i);
    await expect(remove(session(), 7)).rejects.toMatchObject({ code: 'passkey_required' });
    registry.clock.now += 600_000;
    await remove(session(), 7);
  });

  test('does not keep others from removing', async () => {
    for (let i = 1; i <= 10; i++) await remove(session(), i);
    await remove(await registry.ctx(), 11);
    await remove((await registry.session({ verifiedAt: null }))(), 12);
  });
});

test('an API token removes as many as its person says', async () => {
  for (let i = 1; i <= 14; i++) await remove(await registry.ctx(), i);
  expect(await removed()).toBe(14);
});
