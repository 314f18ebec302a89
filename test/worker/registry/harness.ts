import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from '@libsql/client';
import { migrate } from 'drizzle-orm/libsql/migrator';
import { onTestFinished } from 'vitest';
import { Scope } from '../../../schema/api.ts';
import { sha256 } from '../../../schema/digest.ts';
import { type Database, openDatabase } from '../../../worker/db/client.ts';
import { sessions } from '../../../worker/db/tables/people.ts';
import { tokens } from '../../../worker/db/tables/programs.ts';
import { accounts } from '../../../worker/db/tables/registry.ts';
import { Context, type Surroundings } from '../../../worker/registry/context.ts';
import { newId } from '../../../worker/registry/random.ts';

export interface TestRegistry {
  db: Database;
  client: Client;
  /** What the push room was told, in order. */
  rings: unknown[];
  clock: { now: number };
  accountId: string;
  /** A fresh caller of the first account, as every request makes one. */
  ctx(scopes?: readonly Scope[]): Promise<Context>;
  /** A caller of another account. */
  stranger(): Promise<Context>;
  /** Signs in to an account, the first one unless told; gives a fresh caller of that session each time. */
  session(options?: { verifiedAt?: number | null; account?: string }): Promise<() => Context>;
  /** Another account, with nobody in it. */
  addAccount(): Promise<string>;
  around: Surroundings;
}

/** A real libSQL file with the real migrations, one account and API tokens on demand. */
export async function openTestRegistry(): Promise<TestRegistry> {
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-registry-'));
  const client = createClient({ url: `file:${join(folder, 'registry.db')}` });
  onTestFinished(async () => {
    client.close();
    await rm(folder, { recursive: true, force: true });
  });
  const db = openDatabase(client);
  await migrate(db, { migrationsFolder: 'migrations' });
  const clock = { now: 1_800_000_000_000 };
  const rings: unknown[] = [];
  const accountId = await addAccount(db);
  const around: Surroundings = {
    db,
    now: () => clock.now,
    notify: async (event) => {
      rings.push(event);
    },
    defer: (work) => void work,
  };
  const ctx = async (scopes: readonly Scope[], account: string): Promise<Context> => {
    const hash = await sha256(newId());
    await db.insert(tokens).values({
      id: newId(),
      accountId: account,
      hash,
      name: 'test',
      scopes: [...scopes],
      createdAt: 0,
      lastUsedAt: clock.now,
    });
    return new Context(around, { type: 'token', hash });
  };
  const session: TestRegistry['session'] = async ({
    verifiedAt = clock.now,
    account: of = accountId,
  } = {}) => {
    const hash = await sha256(newId());
    await db.insert(sessions).values({
      id: newId(),
      hash,
      accountId: of,
      method: 'passkey',
      browser: 'Firefox on Linux',
      place: 'a test',
      createdAt: clock.now,
      expiresAt: clock.now + 30 * 24 * 3_600_000,
      lastUsedAt: clock.now,
      verifiedAt,
    });
    return () => new Context(around, { type: 'session', hash });
  };
  return {
    db,
    client,
    rings,
    clock,
    accountId,
    ctx: (scopes = Scope.options) => ctx(scopes, accountId),
    stranger: async () => ctx(Scope.options, await addAccount(db)),
    session,
    addAccount: () => addAccount(db),
    around,
  };
}

async function addAccount(db: Database): Promise<string> {
  const id = newId();
  await db.insert(accounts).values({ id, name: 'test', epoch: newId().slice(0, 12), createdAt: 0 });
  return id;
}

/** Text of a small skill. */
export function skillText(name: string, description = `Does ${name}.`, body = `# ${name}\n`): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}`;
}
