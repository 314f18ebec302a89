import { describe, expect, test } from 'vitest';
import { applications, oauthRecords, refreshes } from '../../../worker/db/tables/programs.ts';
import { endAllGrants, listApplications, revokeApplication } from '../../../worker/registry/applications.ts';
import { purgeOAuth } from '../../../worker/registry/oauth-purge.ts';
import { ORIGIN } from '../api/harness.ts';
import {
  type Client,
  openTestOAuth,
  RESOURCE,
  type TestOAuth,
  type Tokens,
  tokensOf,
} from './oauth-harness.ts';

const ROUNDS = 50;
const AT_ONCE = 20;
const MINUTE = 60_000;
const DAY = 24 * 3_600_000;

function atOnce<T>(work: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Lets `slow` fall behind at its `n`-th request to the database until `fast` is through; whether it came that far. */
async function overtaken<S, F>(
  oauth: TestOAuth,
  n: number,
  [slow, fast]: [() => Promise<S>, () => Promise<F>],
): Promise<{ reached: boolean; slow: S; fast: F }> {
  let trip = 0;
  const behind = Promise.withResolvers<void>();
  const through = Promise.withResolvers<void>();
  oauth.database.send = async (send) => {
    if (++trip === n) {
      behind.resolve();
      await through.promise;
    }
    return send();
  };
  const late = slow();
  const reached = await Promise.race([behind.promise.then(() => true), late.then(() => false)]);
  oauth.database.send = (send) => send();
  const first = await fast();
  through.resolve();
  return { reached, slow: await late, fast: first };
}

async function stored({ db }: TestOAuth): Promise<string[]> {
  return (await db.select({ key: oauthRecords.key }).from(oauthRecords)).map(({ key }) => key).sort();
}

async function expectDead(oauth: TestOAuth, client: Client, { access, refresh }: Tokens): Promise<void> {
  expect((await oauth.tool(access)).status).toBe(401);
  const answer = await oauth.refresh(client, refresh);
  expect([answer.status, answer.json.error]).toEqual([400, 'invalid_grant']);
}

async function expectAlive(oauth: TestOAuth, client: Client, { access, refresh }: Tokens): Promise<void> {
  expect((await oauth.tool(access)).status).toBe(200);
  expect((await oauth.refresh(client, refresh)).status).toBe(200);
}

describe('check 3: a code is redeemed once, and its grant dies when it comes again', () => {
  test('in turn', async () => {
    const oauth = await openTestOAuth();
    const client = await oauth.register();
    const approved = await oauth.approve(client);
    const tokens = tokensOf(await oauth.redeem(client, approved));
    expect((await oauth.tool(tokens.access)).status).toBe(200);
    const again = await oauth.redeem(client, approved);
    expect([again.status, again.json.error]).toEqual([400, 'invalid_grant']);
    await expectDead(oauth, client, tokens);
    expect(await oauth.events('application_revoked')).toHaveLength(1);
  });

  test('many times at once, in every round', { timeout: 300_000 }, async () => {
    const oauth = await openTestOAuth();
    const client = await oauth.register();
    for (let round = 0; round < ROUNDS; round++) {
      const approved = await oauth.approve(client);
      const answers = await atOnce(() => oauth.redeem(client, approved));
      const won = answers.filter(({ status }) => status === 200);
      expect(won.length).toBeLessThanOrEqual(1);
      for (const { status, json } of answers)
        if (status !== 200) expect([status, json.error]).toEqual([400, 'invalid_grant']);
      for (const answer of won) await expectDead(oauth, client, tokensOf(answer));
    }
    expect((await listApplications(oauth.personal())).applications).toEqual([]);
  });
});

describe('check 3: however far one redemption is when another overtakes it', () => {
  test('there is one success at most, and the grant dies', async () => {
    for (let n = 1, reached = true; reached; n++) {
      const oauth = await openTestOAuth();
      const client = await oauth.register();
      const approved = await oauth.approve(client);
      const redeem = () => oauth.redeem(client, approved);
      const race = await overtaken(oauth, n, [redeem, redeem]);
      reached = race.reached;
      expect([race.fast.status, race.slow.status].sort()).toEqual([200, 400]);
      await expectDead(oauth, client, tokensOf(race.fast.status === 200 ? race.fast : race.slow));
    }
  });
});

test('check 4: a code of one client is worth nothing to another', async () => {
  const oauth = await openTestOAuth();
  const client = await oauth.register();
  const other = await oauth.register();
  const approved = await oauth.approve(client);
  const stolen = await oauth.redeem(other, approved);
  expect([stolen.status, stolen.json.error]).toEqual([400, 'invalid_grant']);
  await expectAlive(oauth, client, tokensOf(await oauth.redeem(client, approved)));
});

describe('check 5: a token is for one resource', () => {
  test('and for no other of the same registry', async () => {
    const oauth = await openTestOAuth();
    const { tokens } = await oauth.connect();
    const client = await oauth.register();
    const resource = `${RESOURCE}/notes`;
    const { access } = tokensOf(
      await oauth.redeem(client, await oauth.approve(client, { resource }), { resource }),
    );
    const status = async (token: string, path: string) =>
      (await oauth.tool(token, undefined, undefined, path)).status;
    expect(await status(tokens.access, '/mcp')).toBe(200);
    expect(await status(access, '/mcp/notes')).toBe(404);
    for (const [token, path] of [
      [tokens.access, '/mcp/notes'],
      [access, '/mcp'],
      [access, '/mcp/other'],
      [tokens.access, 'http://127.0.0.1:8787/mcp'],
      [tokens.access, 'https://other.example/mcp'],
    ] as const)
      expect([path, await status(token, path)]).toEqual([path, 401]);
    for (const token of [tokens.access, access])
      expect((await oauth.call('/api/v1/items', { token })).status).toBe(401);
  });

  test.each([`${RESOURCE}/notes`, 'https://other.example/mcp', `${ORIGIN}/`])(
    'asking for %s at the token endpoint changes nothing',
    async (resource) => {
      const oauth = await openTestOAuth();
      const client = await oauth.register();
      const approved = await oauth.approve(client);
      const wrong = await oauth.redeem(client, approved, { resource });
      expect([wrong.status, wrong.json.error]).toEqual([400, 'invalid_target']);
      const tokens = tokensOf(await oauth.redeem(client, approved));

      for (let again = 0; again < 2; again++) {
        const refused = await oauth.refresh(client, tokens.refresh, { resource });
        expect([refused.status, refused.json.error]).toEqual([400, 'invalid_target']);
        expect((await oauth.refresh(client, tokens.refresh)).status).toBe(200);
      }
      await expectAlive(oauth, client, tokens);
    },
  );

  test('a token that is too old is refused', async () => {
    const oauth = await openTestOAuth();
    const { tokens } = await oauth.connect();
    oauth.pass(DAY - 1000);
    expect((await oauth.tool(tokens.access)).status).toBe(200);
    oauth.pass(2000);
    const { status, headers } = await oauth.tool(tokens.access);
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('invalid_token'),
    ]);
  });
});

describe('check 6: refreshes of one token at once', () => {
  test('all get the same working pair, in every round of one chain', { timeout: 300_000 }, async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    let current = tokens;
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await atOnce(() => oauth.refresh(client, current.refresh));
      expect(answers.map(({ status }) => status)).toEqual(Array(AT_ONCE).fill(200));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const next = tokensOf(answers[0] as (typeof answers)[number]);
      expect(next.refresh).not.toBe(current.refresh);
      expect((await oauth.tool(next.access)).status).toBe(200);
      current = next;
    }
    expect((await listApplications(oauth.personal())).applications).toHaveLength(1);
    expect(await oauth.events('refresh_replayed')).toEqual([]);
  });

  test('get the same pair however far one is when another overtakes it', async () => {
    for (let n = 1, reached = true; reached; n++) {
      const oauth = await openTestOAuth();
      const { client, tokens } = await oauth.connect();
      const refresh = () => oauth.refresh(client, tokens.refresh);
      const race = await overtaken(oauth, n, [refresh, refresh]);
      reached = race.reached;
      expect(race.slow.status).toBe(200);
      expect(race.slow.text).toBe(race.fast.text);
      await expectAlive(oauth, client, tokensOf(race.slow));
    }
  });

  test('of a client with a secret, only to who has it', async () => {
    const oauth = await openTestOAuth();
    const client = await oauth.register({ token_endpoint_auth_method: 'client_secret_post' });
    const { refresh } = tokensOf(await oauth.redeem(client, await oauth.approve(client)));
    const first = await oauth.refresh(client, refresh);
    expect((await oauth.refresh(client, refresh)).text).toBe(first.text);
    for (const thief of [
      { ...client, secret: 'x'.repeat(32) },
      { id: client.id, redirect: client.redirect },
    ]) {
      const answer = await oauth.refresh(thief, refresh);
      expect([answer.status, answer.json.error]).toEqual([401, 'invalid_client']);
    }
    await expectAlive(oauth, client, tokensOf(first));
  });
});

describe('check 7: an answer that was lost', () => {
  test('is given again within a minute', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const lost = await oauth.refresh(client, tokens.refresh);
    oauth.pass(MINUTE - 1);
    const again = await oauth.refresh(client, tokens.refresh);
    expect(again.text).toBe(lost.text);
    expect(again.headers.get('cache-control')).toBe('no-store');
    await expectAlive(oauth, client, tokensOf(again));
  });

  test('may be asked for at any time while nobody used what it held', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    await oauth.refresh(client, tokens.refresh);
    oauth.pass(2 * DAY);
    await expectAlive(oauth, client, tokensOf(await oauth.refresh(client, tokens.refresh)));
    expect(await oauth.events('refresh_replayed')).toEqual([]);
  });

  test('is kept under a key that is not', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const next = tokensOf(await oauth.refresh(client, tokens.refresh));
    const kept = JSON.stringify([
      await oauth.db.select().from(refreshes),
      await oauth.db.select().from(oauthRecords),
    ]);
    for (const token of [tokens.access, tokens.refresh, next.access, next.refresh])
      expect(kept).not.toContain(token.split(':')[2]);
  });
});

describe('check 8: an exchanged token that comes back ends its family, and the person sees it', () => {
  test('after its successor was used', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const second = tokensOf(await oauth.refresh(client, tokens.refresh));
    const third = tokensOf(await oauth.refresh(client, second.refresh));
    oauth.pass(MINUTE);
    for (let again = 0; again < 3; again++) {
      const answer = await oauth.refresh(client, tokens.refresh);
      expect([answer.status, answer.json.error]).toEqual([400, 'invalid_grant']);
    }
    for (const dead of [tokens, second, third]) await expectDead(oauth, client, dead);
    expect((await listApplications(oauth.personal())).applications).toEqual([]);
    expect(await oauth.events('refresh_replayed')).toMatchObject([
      { at: oauth.clock.now, details: { name: 'Claude', host: 'claude.ai' } },
    ]);
    expect(await oauth.events('application_revoked')).toEqual([]);
  });

  test('when another took its place before it was ever used', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const mine = tokensOf(await oauth.refresh(client, tokens.refresh));
    oauth.pass(MINUTE);
    const thief = tokensOf(await oauth.refresh(client, tokens.refresh));
    expect((await oauth.refresh(client, mine.refresh)).status).toBe(400);
    for (const dead of [mine, thief]) await expectDead(oauth, client, dead);
    expect(await oauth.events('refresh_replayed')).toHaveLength(1);
  });

  test('but not at the hands of another client, nor after a month', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const second = tokensOf(await oauth.refresh(client, tokens.refresh));
    let last = tokensOf(await oauth.refresh(client, second.refresh));
    oauth.pass(MINUTE);
    expect((await oauth.refresh(await oauth.register(), tokens.refresh)).status).toBe(400);
    expect((await oauth.tool(last.access)).status).toBe(200);
    for (let week = 0; week < 5; week++) {
      oauth.pass(7 * DAY);
      last = tokensOf(await oauth.refresh(client, last.refresh));
    }
    expect((await oauth.refresh(client, tokens.refresh)).status).toBe(400);
    await expectAlive(oauth, client, last);
  });
});

test('a refresh token is good for 90 days after the last refresh', async () => {
  const oauth = await openTestOAuth();
  const { client, tokens } = await oauth.connect();
  oauth.pass(89 * DAY);
  const second = tokensOf(await oauth.refresh(client, tokens.refresh));
  oauth.pass(89 * DAY);
  const third = tokensOf(await oauth.refresh(client, second.refresh));
  oauth.pass(90 * DAY);
  expect((await oauth.refresh(client, third.refresh)).status).toBe(400);
  await purgeOAuth(oauth.db, oauth.clock.now);
  const [application] = await oauth.db.select().from(applications);
  expect(application?.revokedAt).toBe(oauth.clock.now);
});

describe('check 9: what is revoked is refused at once', () => {
  test('by the person', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const other = await oauth.connect();
    const id = tokens.access.split(':')[1] as string;
    await revokeApplication(oauth.personal(), id);
    await revokeApplication(oauth.personal(), id);
    await expectDead(oauth, client, tokens);
    await expectAlive(oauth, other.client, other.tokens);
    expect(await oauth.events('application_revoked')).toHaveLength(1);
    await expect(revokeApplication(oauth.personal(), 'unknown')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('by the person, before its code was redeemed', async () => {
    const oauth = await openTestOAuth();
    const client = await oauth.register();
    const approved = await oauth.approve(client);
    await revokeApplication(oauth.personal(), approved.code.split(':')[1] as string);
    expect((await oauth.redeem(client, approved)).status).toBe(400);
  });

  test('by the person, however far a redemption or a refresh is', async () => {
    for (const tokenOf of ['code', 'refresh'] as const) {
      for (let n = 1, reached = true; reached; n++) {
        const oauth = await openTestOAuth();
        const client = await oauth.register();
        const approved = await oauth.approve(client);
        const grant = approved.code.split(':')[1] as string;
        let get = () => oauth.redeem(client, approved);
        if (tokenOf === 'refresh') {
          const { refresh } = tokensOf(await get());
          get = () => oauth.refresh(client, refresh);
        }
        const race = await overtaken(oauth, n, [get, () => revokeApplication(oauth.personal(), grant)]);
        reached = race.reached;
        if (race.slow.status === 200) await expectDead(oauth, client, tokensOf(race.slow));
        else expect([race.slow.status, race.slow.json.error]).toEqual([400, 'invalid_grant']);
        expect(await stored(oauth)).toEqual([`client:${client.id}`]);
      }
    }
  });

  test('with everything else of the account', async () => {
    const oauth = await openTestOAuth();
    const all = [await oauth.connect(), await oauth.connect()];
    await oauth.db.batch(endAllGrants(oauth.db, { accountId: oauth.person.accountId, at: oauth.clock.now }));
    for (const { client, tokens } of all) await expectDead(oauth, client, tokens);
    expect(await stored(oauth)).toEqual(all.map(({ client }) => `client:${client.id}`).sort());
  });

  test.each(['refresh_token', 'access_token', undefined])(
    'by the client, with the refresh token and the hint %s',
    async (token_type_hint) => {
      const oauth = await openTestOAuth();
      const { client, tokens } = await oauth.connect();
      const form = { token: tokens.refresh, token_type_hint, client_id: client.id };
      expect((await oauth.post('/revoke', form)).status).toBe(200);
      await expectDead(oauth, client, tokens);
      expect((await oauth.post('/revoke', form)).status).toBe(200);
      expect(await oauth.events('application_revoked')).toHaveLength(1);
    },
  );

  test('by the client, with an access token: that one alone', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const form = { token: tokens.access, client_id: client.id, grant_type: 'refresh_token' };
    expect((await oauth.post('/revoke', form)).status).toBe(200);
    expect((await oauth.tool(tokens.access)).status).toBe(401);
    await expectAlive(oauth, client, tokensOf(await oauth.refresh(client, tokens.refresh)));
  });

  test('but not by another client', async () => {
    const oauth = await openTestOAuth();
    const { client, tokens } = await oauth.connect();
    const other = await oauth.register();
    for (const token of [tokens.access, tokens.refresh])
      expect((await oauth.post('/revoke', { token, client_id: other.id })).status).toBe(200);
    await expectAlive(oauth, client, tokens);
  });

  test('nothing to revoke, and nobody to ask for it', async () => {
    const oauth = await openTestOAuth();
    const client = await oauth.register();
    expect((await oauth.post('/revoke', { client_id: client.id })).json.error).toBe('invalid_request');
    expect((await oauth.post('/revoke', { token: 'x', client_id: client.id })).status).toBe(200);
    expect((await oauth.post('/revoke', { token: 'x' })).json.error).toBe('invalid_client');
  });
});

test('an application of another account is not there to be revoked', async () => {
  const oauth = await openTestOAuth();
  const { client, tokens } = await oauth.connect();
  await oauth.db.update(applications).set({ accountId: await oauth.addAccount() });
  const id = tokens.access.split(':')[1] as string;
  await expect(revokeApplication(oauth.personal(), id)).rejects.toMatchObject({ code: 'not_found' });
  expect((await listApplications(oauth.personal())).applications).toEqual([]);
  expect((await oauth.refresh(client, tokens.refresh)).status).toBe(200);
});
