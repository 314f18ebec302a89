import { describe, expect, test, vi } from 'vitest';
import { applications, oauthRecords } from '../../../worker/db/tables/programs.ts';
import { purgeOAuth } from '../../../worker/registry/oauth-purge.ts';
import { openTestOAuth, type TestOAuth, tokensOf } from './oauth-harness.ts';

/**
 * Lets the registry die at its `n`-th request to the database: before the database has it, or after it did it but before
 * the registry heard of it. Gives whether it came that far.
 */
async function dying(
  oauth: TestOAuth,
  n: number,
  when: 'before' | 'after',
  work: () => Promise<unknown>,
): Promise<boolean> {
  let left = n;
  oauth.database.send = async (send) => {
    if (--left > 0) return send();
    if (when === 'after') await send();
    throw new Error('The registry died.');
  };
  await work();
  oauth.database.send = (send) => send();
  return left <= 0;
}

/** Runs a check for each request to the database at which the registry could die. */
async function atEachTrip(check: (n: number, when: 'before' | 'after') => Promise<boolean>): Promise<void> {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  let deaths = 0;
  for (const when of ['before', 'after'] as const) for (let n = 1; await check(n, when); n++) deaths++;
  expect(deaths).toBeGreaterThanOrEqual(4);
  vi.restoreAllMocks();
}

/** Grants and the applications that are connected by them: each has the other. */
async function expectNoOrphan({ db, clock }: TestOAuth): Promise<void> {
  await purgeOAuth(db, clock.now);
  const keys = (await db.select({ key: oauthRecords.key }).from(oauthRecords)).map(({ key }) => key);
  const connected = (await db.select().from(applications)).filter(({ revokedAt }) => revokedAt === null);
  expect(keys.filter((key) => key.startsWith('grant:')).sort()).toEqual(
    connected.map(({ accountId, id }) => `grant:${accountId}:${id}`).sort(),
  );
  for (const key of keys.filter((key) => key.startsWith('token:')))
    expect(keys).toContain(key.replace('token:', 'grant:').replace(/:[^:]*$/, ''));
}

describe('check 17: after a crash anywhere a repetition works, or a new sign-in does', () => {
  test('while the person answers', { timeout: 300_000 }, () =>
    atEachTrip(async (n, when) => {
      const oauth = await openTestOAuth();
      const client = await oauth.register();
      const question = await oauth.ask(client);
      const died = await dying(oauth, n, when, () => oauth.decide(question));
      const again = await oauth.decide(question);
      expect([302, 400]).toContain(again.status);
      if (again.status === 302) {
        const code = new URL(again.headers.get('location') ?? '').searchParams.get('code') ?? '';
        tokensOf(await oauth.redeem(client, { code, verifier: question.verifier }));
      } else {
        tokensOf(await oauth.redeem(client, await oauth.approve(client)));
      }
      await expectNoOrphan(oauth);
      return died;
    }),
  );

  test('while a code is redeemed', { timeout: 300_000 }, () =>
    atEachTrip(async (n, when) => {
      const oauth = await openTestOAuth();
      const client = await oauth.register();
      const approved = await oauth.approve(client);
      const died = await dying(oauth, n, when, () => oauth.redeem(client, approved));
      const again = await oauth.redeem(client, approved);
      if (again.status === 200) {
        expect((await oauth.tool(tokensOf(again).access)).status).toBe(200);
      } else {
        expect([again.status, again.json.error]).toEqual([400, 'invalid_grant']);
        const { access } = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
        expect((await oauth.tool(access)).status).toBe(200);
      }
      await expectNoOrphan(oauth);
      return died;
    }),
  );

  test('while a token is refreshed', { timeout: 300_000 }, () =>
    atEachTrip(async (n, when) => {
      const oauth = await openTestOAuth();
      const { client, tokens } = await oauth.connect();
      const died = await dying(oauth, n, when, () => oauth.refresh(client, tokens.refresh));
      const next = tokensOf(await oauth.refresh(client, tokens.refresh));
      expect((await oauth.tool(next.access)).status).toBe(200);
      expect((await oauth.refresh(client, next.refresh)).status).toBe(200);
      await expectNoOrphan(oauth);
      return died;
    }),
  );
});

test('check 17: what was never finished is gone when its time is over', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  await oauth.ask(client);
  await oauth.approve(client);
  oauth.pass(600_000);
  await expectNoOrphan(oauth);
  const keys = (await oauth.db.select({ key: oauthRecords.key }).from(oauthRecords)).map(({ key }) => key);
  expect(keys).toEqual([`client:${client.id}`]);
  const [application] = await oauth.db.select().from(applications);
  expect(application?.revokedAt).toBe(oauth.clock.now);
});
