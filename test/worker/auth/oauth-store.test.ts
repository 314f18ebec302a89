import { describe, expect, test } from 'vitest';
import { OAuthStore } from '../../../worker/auth/oauth-store.ts';
import { applications, oauthRecords } from '../../../worker/db/tables/programs.ts';
import { StaleRecordError } from '../../../worker/registry/oauth-records.ts';
import { openTestApi } from '../api/harness.ts';

/** What `@cloudflare/workers-oauth-provider` 1.2.3 asks of Workers KV, and what this store promises beyond it. */
async function openStore() {
  const { db, clock, addAccount, seen } = await openTestApi();
  const begin = () => new OAuthStore(db, () => clock.now);
  async function write(work: (store: OAuthStore) => Promise<unknown>): Promise<void> {
    const store = begin();
    await work(store);
    await store.commit();
  }
  return { db, clock, addAccount, seen, begin, write };
}

describe('as Workers KV', () => {
  test('a value is read as text unless JSON is asked for', async () => {
    const { begin, write } = await openStore();
    await write((store) => store.put('a', '{"n":1}'));
    expect(await begin().get('a')).toBe('{"n":1}');
    expect(await begin().get('a', { type: 'json' })).toEqual({ n: 1 });
    expect(await begin().get('a', 'json')).toEqual({ n: 1 });
    expect(await begin().get('b', { type: 'json' })).toBe(null);
  });

  test('metadata comes with the value and in lists', async () => {
    const { begin, write } = await openStore();
    await write(async (store) => {
      await store.put('with', 'x', { metadata: { clientId: 'c' } });
      await store.put('without', 'y');
    });
    expect(await begin().getWithMetadata('with')).toEqual({ value: 'x', metadata: { clientId: 'c' } });
    expect(await begin().getWithMetadata('without')).toEqual({ value: 'y', metadata: null });
    expect(await begin().getWithMetadata('absent')).toEqual({ value: null, metadata: null });
    expect((await begin().list({ prefix: 'with' })).keys).toEqual([
      { name: 'with', metadata: { clientId: 'c' } },
      { name: 'without' },
    ]);
  });

  test('a put replaces value, metadata and expiry', async () => {
    const { begin, write } = await openStore();
    await write((store) => store.put('a', '1', { metadata: 1, expirationTtl: 60 }));
    await write((store) => store.put('a', '2'));
    expect(await begin().getWithMetadata('a')).toEqual({ value: '2', metadata: null });
    expect((await begin().list()).keys).toEqual([{ name: 'a' }]);
  });

  test('a key ends at its time, absolute or from now on, for get and list alike', async () => {
    const { begin, write, clock } = await openStore();
    const s = clock.now / 1000;
    await write(async (store) => {
      await store.put('absolute', 'x', { expiration: s + 100 });
      await store.put('relative', 'x', { expirationTtl: 200 });
    });
    expect((await begin().list()).keys).toEqual([
      { name: 'absolute', expiration: s + 100 },
      { name: 'relative', expiration: s + 200 },
    ]);
    clock.now += 100_000;
    expect(await begin().get('absolute')).toBe(null);
    expect(await begin().get('relative')).toBe('x');
    expect((await begin().list()).keys.map(({ name }) => name)).toEqual(['relative']);
    clock.now += 100_000;
    expect((await begin().list()).keys).toEqual([]);
  });

  test('a key that has ended can be written again', async () => {
    const { begin, write, clock } = await openStore();
    await write((store) => store.put('a', 'old', { expirationTtl: 60 }));
    clock.now += 60_000;
    await write(async (store) => {
      expect(await store.get('a')).toBe(null);
      await store.put('a', 'new');
    });
    expect(await begin().get('a')).toBe('new');
  });

  test('what is deleted is gone, and deleting what is not there is no error', async () => {
    const { begin, write } = await openStore();
    await write((store) => store.put('a', 'x'));
    await write(async (store) => {
      await store.delete('a');
      await store.delete('never');
      expect(await store.get('a')).toBe(null);
    });
    expect(await begin().get('a')).toBe(null);
  });

  test('a list goes through all keys with a prefix, in pages, whatever the characters', async () => {
    const { begin, write } = await openStore();
    const keys = [
      'grant:a:1',
      'grant:a:2',
      'grant:a:_',
      'grant:a:é',
      'grant:a%:3',
      'grant:A:4',
      'grant:b:5',
      'grantx',
    ];
    await write((store) => Promise.all(keys.map((key) => store.put(key, 'x'))));
    const pages: string[][] = [];
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await begin().list({ prefix: 'grant:a:', limit: 3, cursor });
      pages.push(page.keys.map(({ name }) => name));
      cursor = page.cursor;
      more = !page.list_complete;
    }
    expect(pages).toEqual([['grant:a:1', 'grant:a:2', 'grant:a:_'], ['grant:a:é']]);
    expect((await begin().list({ prefix: 'none' })).list_complete).toBe(true);
    expect((await begin().list()).keys).toHaveLength(keys.length);
  });
});

describe('beyond Workers KV', () => {
  test('a request reads its own writes, reads a key once, and stores nothing before its commit', async () => {
    const { begin, seen } = await openStore();
    const store = begin();
    expect(await store.get('a')).toBe(null);
    const trips = seen.trips;
    await store.put('a', 'x');
    expect(await store.get('a')).toBe('x');
    expect(await begin().get('a')).toBe(null);
    await store.commit();
    expect(seen.trips - trips).toBe(2);
    expect(await begin().get('a')).toBe('x');
  });

  test.each([
    ['changed', (store: OAuthStore) => store.put('a', 'theirs')],
    ['deleted', (store: OAuthStore) => store.delete('a')],
  ])(
    'a write fails when what it was based on was %s meanwhile, and stores nothing at all',
    async (_, meanwhile) => {
      const { begin, write } = await openStore();
      await write((store) => store.put('a', 'old'));
      const slow = begin();
      await slow.get('a');
      await slow.put('a', 'mine');
      await slow.put('token:1', 'x');
      await write(meanwhile);
      await expect(slow.commit()).rejects.toThrow(StaleRecordError);
      expect(await begin().get('token:1')).toBe(null);
      expect(await begin().get('a')).not.toBe('mine');
    },
  );

  test('of two that found nothing, one writes', async () => {
    const { begin } = await openStore();
    const both = [begin(), begin()];
    for (const [i, store] of both.entries()) {
      await store.get('a');
      await store.put('a', String(i));
    }
    const ends = await Promise.allSettled(both.map((store) => store.commit()));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('of twenty that take one waiting consent at once, one gets it', async () => {
    const { begin, write } = await openStore();
    await write((store) => store.put('transaction:1', 'x'));
    const ends = await Promise.allSettled(
      Array.from({ length: 20 }, async () => {
        const store = begin();
        if ((await store.get('transaction:1')) === null) throw new Error('too late');
        await store.delete('transaction:1');
        await store.commit();
      }),
    );
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a grant that is deleted takes along its tokens and its application, whatever happened meanwhile', async () => {
    const { db, begin, write, addAccount, clock } = await openStore();
    const account = await addAccount();
    for (const id of ['g', 'h']) {
      await db.insert(applications).values({
        id,
        accountId: account,
        clientId: 'c',
        name: 'n',
        host: 'h',
        resource: 'r',
        scopes: [],
        readOnly: false,
        connectedAt: 0,
      });
      await write((store) => store.put(`grant:${account}:${id}`, '{}'));
    }
    const slow = begin();
    await slow.get(`grant:${account}:g`);
    await write(async (store) => {
      await store.get(`grant:${account}:g`);
      await store.put(`grant:${account}:g`, '{"refreshed":true}');
      await store.put(`token:${account}:g:1`, '{}');
      await store.put(`token:${account}:h:1`, '{}');
    });
    await slow.delete(`grant:${account}:g`);
    await slow.commit();
    const left = await db.select({ key: oauthRecords.key }).from(oauthRecords);
    expect(left.map(({ key }) => key).sort()).toEqual([`grant:${account}:h`, `token:${account}:h:1`]);
    const revoked = await db.select({ id: applications.id, at: applications.revokedAt }).from(applications);
    expect(revoked).toEqual([
      { id: 'g', at: clock.now },
      { id: 'h', at: null },
    ]);
  });
});
