import { beforeEach, expect, test } from 'vitest';
import { sha256 } from '../../../schema/digest.ts';
import { LIMITS } from '../../../schema/item.ts';
import { putBlob } from '../../../worker/registry/blobs.ts';
import type { Context } from '../../../worker/registry/context.ts';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { setGuidelines } from '../../../worker/registry/guidelines.ts';
import { removeItem } from '../../../worker/registry/remove.ts';
import { renameItem } from '../../../worker/registry/rename.ts';
import { dumpDatabase } from '../dump.ts';
import { openTestRegistry, type TestRegistry } from './harness.ts';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
  await createItem(await registry.ctx(), { kind: 'skill', name: 'a', description: 'd', instructions: 'i' });
});

const ref = { kind: 'skill', name: 'a' } as const;
const bytes = new TextEncoder().encode('b');

const WRITES: [string, (ctx: Context) => Promise<unknown>][] = [
  ['a new item', (ctx) => createItem(ctx, { kind: 'skill', name: 'b', description: 'd', instructions: 'i' })],
  ['an edit', (ctx) => editItem(ctx, ref, { description: 'new' })],
  ['a new name', (ctx) => renameItem(ctx, ref, 'b', 1)],
  ['a removal', (ctx) => removeItem(ctx, ref, 1)],
  ['guidelines', (ctx) => setGuidelines(ctx, { text: 'x'.repeat(LIMITS.guidelines) })],
  ['bytes', async (ctx) => putBlob(ctx, await sha256(bytes), bytes)],
];

test.each(WRITES)(
  '%s by a caller whose credential ended since it was looked at is not written',
  async (_, write) => {
    const ctx = await registry.ctx();
    await ctx.enter();
    await registry.client.execute('update tokens set revoked_at = 1');
    const before = await dumpDatabase(registry.db);
    await expect(write(ctx)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await dumpDatabase(registry.db)).toEqual(before);
  },
);

test.each(WRITES)('%s by the same caller is written where nothing ended', async (_, write) => {
  const ctx = await registry.ctx();
  await ctx.enter();
  const before = await dumpDatabase(registry.db);
  await write(ctx);
  expect(await dumpDatabase(registry.db)).not.toEqual(before);
});
