import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient, type InArgs, type LibsqlError } from '@libsql/client/http';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/libsql/http';
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHrana, type Hrana } from '../../../worker/local/hrana.ts';

let folder: string;
let file: string;
let hrana: Hrana;
let client: Client;

const connect = (): Client => createClient({ url: 'http://libsql', fetch: hrana.fetch });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hrana-'));
  file = join(folder, 'registry.db');
  hrana = createHrana({ file });
  client = connect();
  await client.execute(
    'CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 100)) STRICT',
  );
  await client.execute("INSERT INTO counters VALUES ('a', 0)");
});

afterEach(async () => {
  hrana.close();
  await rm(folder, { recursive: true });
});

const count = async (name = 'a'): Promise<unknown> =>
  (await client.execute({ sql: 'SELECT n FROM counters WHERE name = ?', args: [name] })).rows[0]?.n;

const refusal = async (work: Promise<unknown>): Promise<Pick<LibsqlError, 'code' | 'message'>> =>
  work.then(
    () => expect.unreachable('it was not refused'),
    (error: LibsqlError) => ({ code: error.code, message: error.message }),
  );

describe('values', () => {
  test.each([
    ['a statement', (sql: string) => client.execute(sql)],
    ['a script', (sql: string) => client.executeMultiple(sql)],
  ])('have the columns of the schema as it is, after %s changed it', async (_, change) => {
    const names = async () => (await client.execute('SELECT * FROM counters')).columns;
    expect(await names()).toEqual(['name', 'n']);
    await change('ALTER TABLE counters ADD COLUMN more TEXT');
    expect(await names()).toEqual(['name', 'n', 'more']);
    await change('DROP TABLE counters');
    await change('CREATE TABLE counters (other TEXT)');
    expect(await names()).toEqual(['other']);
  });

  test('have the columns of the schema as it is, after a change under a comment, or one that was taken back', async () => {
    const names = async () => (await client.execute('SELECT * FROM counters')).columns;
    const before = await names();
    const transaction = await client.transaction('write');
    await transaction.execute('ALTER TABLE counters ADD COLUMN more TEXT');
    expect((await transaction.execute('SELECT * FROM counters')).columns).toEqual([...before, 'more']);
    await transaction.rollback();
    expect(await names()).toEqual(before);
    await client.execute('-- Room for more.\n/* and more */ ALTER TABLE counters ADD COLUMN more TEXT');
    expect(await names()).toEqual([...before, 'more']);
  });

  test('that are missing are NULL, whatever the same statement was given before', async () => {
    const sql = 'SELECT ?1 AS a, ?2 AS b';
    const given = async (args: InArgs) => Object.values({ ...(await client.execute({ sql, args })).rows[0] });
    expect(await given(['one', 'two'])).toEqual(['one', 'two']);
    expect(await given(['three'])).toEqual(['three', null]);
    expect(await given([])).toEqual([null, null]);
    expect(await given(['four', 'five'])).toEqual(['four', 'five']);
    expect(await given({})).toEqual([null, null]);
  });

  test('come back with the type and the bytes they had', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const { rows, columns } = await client.execute({
      sql: 'SELECT ? AS missing, ? AS text, ? AS float, ? AS blob, ? AS empty, ? AS yes',
      args: [null, 'über 🎭\r\n', 0.1, bytes, new Uint8Array(), true],
    });
    expect(columns).toEqual(['missing', 'text', 'float', 'blob', 'empty', 'yes']);
    expect({ ...rows[0] }).toEqual({
      missing: null,
      text: 'über 🎭\r\n',
      float: 0.1,
      blob: bytes.buffer,
      empty: new ArrayBuffer(0),
      yes: 1,
    });
  });

  test('64-bit integers are exact', async () => {
    const exact = createClient({ url: 'http://libsql', fetch: hrana.fetch, intMode: 'bigint' });
    const { rows } = await exact.execute({ sql: 'SELECT ? AS n', args: [9223372036854775807n] });
    expect(rows[0]?.n).toBe(9223372036854775807n);
  });

  test('named arguments, with and without their sign', async () => {
    const { rows } = await client.execute({
      sql: 'SELECT :a AS a, @b AS b, $c AS c',
      args: { a: 'x', '@b': 'y', c: 'z' },
    });
    expect({ ...rows[0] }).toEqual({ a: 'x', b: 'y', c: 'z' });
  });

  test('counts and row ids, with RETURNING too', async () => {
    await client.execute('CREATE TABLE log (id INTEGER PRIMARY KEY, line TEXT)');
    const plain = await client.execute("INSERT INTO log (line) VALUES ('1'), ('2')");
    expect([plain.rowsAffected, plain.lastInsertRowid]).toEqual([2, 2n]);
    const returning = await client.execute("INSERT INTO log (line) VALUES ('3') RETURNING id, line");
    expect([returning.rowsAffected, returning.lastInsertRowid]).toEqual([1, 3n]);
    expect(returning.columnTypes).toEqual(['INTEGER', 'TEXT']);
    expect((await client.execute('SELECT * FROM log')).rowsAffected).toBe(0);
  });
});

describe('errors', () => {
  test.each([
    ['SELECT * FROM nowhere', 'SQLITE_ERROR', 'no such table: nowhere'],
    ["INSERT INTO counters VALUES ('a', 1)", 'SQLITE_CONSTRAINT', 'UNIQUE constraint failed: counters.name'],
    ["INSERT INTO counters VALUES ('b', 100)", 'SQLITE_CONSTRAINT', 'CHECK constraint failed: n < 100'],
    ['SELECT 1; DELETE FROM counters', 'SQL_MANY_STATEMENTS', 'more than one statement'],
    ['-- nothing', 'SQL_NO_STATEMENT', 'no statement'],
  ])('%s', async (statement, code, message) => {
    expect(await refusal(client.execute(statement))).toEqual({
      code,
      message: expect.stringContaining(message),
    });
    expect(await count()).toBe(0);
  });

  test('semicolons in strings, comments, triggers and at the end are no second statement', async () => {
    await client.execute('SELECT \';\' AS "a;b" /* ; */ -- ;\n;');
    await client.execute(
      "CREATE TRIGGER twice AFTER INSERT ON counters BEGIN UPDATE counters SET n = n + 1 WHERE name = 'a'; SELECT 1; END",
    );
    await client.execute("INSERT INTO counters VALUES ('b', 1)");
    expect(await count()).toBe(1);
  });

  test('foreign keys are enforced', async () => {
    await client.execute('CREATE TABLE parts (counter TEXT NOT NULL REFERENCES counters (name))');
    expect(await refusal(client.execute("INSERT INTO parts VALUES ('nobody')"))).toMatchObject({
      code: 'SQLITE_CONSTRAINT',
    });
  });

  test('anything but a pipeline is not found, and a body that is none is refused without a reason from inside', async () => {
    expect((await hrana.fetch(new Request('http://libsql/v3'))).status).toBe(200);
    expect((await hrana.fetch(new Request('http://libsql/v3-protobuf'))).status).toBe(404);
    const answer = await hrana.fetch(new Request('http://libsql/v2/pipeline', { method: 'POST', body: '{' }));
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ code: 'INTERNAL', message: 'The request could not be served' });
    expect(await count()).toBe(0);
  });
});

describe('batches', () => {
  test('a CHECK violation in the first statement undoes and stops the rest', async () => {
    await client.execute(
      'CREATE TABLE guards (ok INTEGER NOT NULL CONSTRAINT head_is_expected CHECK (ok = 1))',
    );
    const write = (expected: number) =>
      client.batch(
        [
          {
            sql: "INSERT INTO guards SELECT count(*) FROM counters WHERE name = 'a' AND n = ?",
            args: [expected],
          },
          "UPDATE counters SET n = n + 1 WHERE name = 'a'",
          'DELETE FROM guards',
        ],
        'write',
      );
    await write(0);
    expect(await refusal(write(0))).toEqual({
      code: 'SQLITE_CONSTRAINT',
      message: expect.stringContaining('CHECK constraint failed: head_is_expected'),
    });
    expect(await count()).toBe(1);
  });

  test('a failure in the last statement undoes the first', async () => {
    await refusal(
      client.batch(["UPDATE counters SET n = 7 WHERE name = 'a'", 'SELECT * FROM nowhere'], 'write'),
    );
    expect(await count()).toBe(0);
  });

  test('twenty at once lose nothing', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, () =>
        connect().batch(
          [
            "UPDATE counters SET n = n + 1 WHERE name = 'a'",
            "SELECT n FROM counters WHERE name = 'a'",
            "UPDATE counters SET n = n + 1 WHERE name = 'a'",
          ],
          'write',
        ),
      ),
    );
    expect(results.map(([, read]) => read?.rows[0]?.n)).toEqual(
      Array.from({ length: 20 }, (_, i) => 2 * i + 1),
    );
    expect(await count()).toBe(40);
  });

  test('a script runs as a whole', async () => {
    await client.executeMultiple(
      "INSERT INTO counters VALUES ('b', 1); INSERT INTO counters VALUES ('c', 2);",
    );
    expect(await count('c')).toBe(2);
  });
});

describe('interactive transactions', () => {
  test('commit and roll back', async () => {
    const kept = await client.transaction('write');
    await kept.execute("UPDATE counters SET n = 1 WHERE name = 'a'");
    expect((await kept.execute('SELECT n FROM counters')).rows[0]?.n).toBe(1);
    await kept.commit();
    const dropped = await client.transaction('write');
    await dropped.batch(["UPDATE counters SET n = 2 WHERE name = 'a'"]);
    await dropped.rollback();
    expect(await count()).toBe(1);
  });

  test('a failed statement leaves the transaction usable', async () => {
    const transaction = await client.transaction('write');
    await refusal(transaction.execute('SELECT * FROM nowhere'));
    await transaction.execute("UPDATE counters SET n = 3 WHERE name = 'a'");
    await transaction.commit();
    expect(await count()).toBe(3);
  });

  test('others wait for the end of one', async () => {
    const transaction = await client.transaction('write');
    await transaction.execute("UPDATE counters SET n = n + 1 WHERE name = 'a'");
    const others = Array.from({ length: 5 }, () =>
      connect().batch(["UPDATE counters SET n = n * 2 WHERE name = 'a'"], 'write'),
    );
    await transaction.execute("UPDATE counters SET n = n + 1 WHERE name = 'a'");
    await transaction.commit();
    await Promise.all(others);
    expect(await count()).toBe(64);
  });

  test('closing one without a commit undoes it and lets the others on', async () => {
    const transaction = await client.transaction('write');
    await transaction.execute("UPDATE counters SET n = 5 WHERE name = 'a'");
    const waiting = count();
    transaction.close();
    expect(await waiting).toBe(0);
  });

  test('a stuck one is rolled back, and told so', async () => {
    hrana.close();
    hrana = createHrana({ file, transactionTimeoutMs: 20 });
    client = connect();
    const stuck = await client.transaction('write');
    await stuck.execute("UPDATE counters SET n = 9 WHERE name = 'a'");
    expect(await count()).toBe(0);
    expect(await refusal(stuck.commit())).toMatchObject({ code: 'STREAM_EXPIRED' });
  });

  test('a baton is good for one use', async () => {
    const post = (body: object) =>
      hrana.fetch(new Request('http://libsql/v3/pipeline', { method: 'POST', body: JSON.stringify(body) }));
    const first = (await (await post({ requests: [{ type: 'get_autocommit' }] })).json()) as {
      baton: string;
    };
    expect(first).toMatchObject({
      results: [{ type: 'ok', response: { type: 'get_autocommit', is_autocommit: true } }],
    });
    const second = await post({ baton: first.baton, requests: [{ type: 'close' }] });
    expect(await second.json()).toMatchObject({ baton: null });
    expect((await post({ baton: first.baton, requests: [] })).status).toBe(400);
  });
});

describe('the file', () => {
  test('is held by one server at a time and is one file after a stop', async () => {
    expect(() => createHrana({ file })).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
    hrana.close();
    hrana = createHrana({ file });
    client = connect();
    expect(await count()).toBe(0);
  });

  test('drizzle: typed rows, batch, transaction', async () => {
    const things = sqliteTable('things', {
      id: integer().primaryKey(),
      name: text().notNull(),
      body: blob({ mode: 'buffer' }).notNull(),
      on: integer({ mode: 'boolean' }).notNull(),
    });
    const db = drizzle(client);
    await db.run(
      sql`CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL, body BLOB NOT NULL, "on" INTEGER NOT NULL)`,
    );
    const [inserted, all] = await db.batch([
      db
        .insert(things)
        .values({ name: 'x', body: Buffer.from([0, 255]), on: true })
        .returning(),
      db.select().from(things),
    ]);
    expect(inserted).toEqual([{ id: 1, name: 'x', body: Buffer.from([0, 255]), on: true }]);
    expect(all).toEqual(inserted);
    await db
      .transaction(async (tx) => {
        await tx.update(things).set({ on: false }).where(eq(things.id, 1));
        tx.rollback();
      })
      .catch(() => undefined);
    expect((await db.select().from(things))[0]?.on).toBe(true);
  });
});

describe('durability', () => {
  test('an answer waits for a sync that began after its commit; those that come meanwhile share one', async () => {
    const path = join(folder, 'durable.db');
    const begun: (() => void)[] = [];
    const slow = createHrana({ file: path, sync: () => new Promise((resolve) => begun.push(resolve)) });
    const far = createClient({ url: 'http://libsql', fetch: slow.fetch });
    const answered: string[] = [];
    const write = (sql: string) => far.batch([sql], 'write').then(() => answered.push(sql));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const until = async (holds: () => boolean) => {
      while (!holds()) await turn();
    };
    const first = write('CREATE TABLE t (n INTEGER)');
    await until(() => begun.length === 1);
    const others = [1, 2, 3].map((n) => write(`INSERT INTO t VALUES (${n})`));
    others.push(far.execute('SELECT 1').then(() => answered.push('read')));
    for (let n = 0; n < 50; n++) await turn();
    expect(answered).toEqual([]);
    expect(begun).toHaveLength(1);
    begun[0]?.();
    await first;
    await until(() => begun.length === 2);
    expect(answered.filter((sql) => sql.startsWith('INSERT'))).toEqual([]);
    begun[1]?.();
    await Promise.all(others);
    expect(begun).toHaveLength(2);
    await far.execute('SELECT 1');
    expect(begun).toHaveLength(2);
    slow.close();
  });
});
