import { beforeEach, describe, expect, test, vi } from 'vitest';
import { RegistryError } from '../../../schema/errors.ts';
import { codeMisses, devices, pairings } from '../../../worker/db/tables/devices.ts';
import { listEvents } from '../../../worker/registry/account-events.ts';
import { approvePairing, denyPairing, showPairing } from '../../../worker/registry/approval.ts';
import type { Context } from '../../../worker/registry/context.ts';
import { pollPairing, startPairing } from '../../../worker/registry/pairing.ts';
import type { Proof } from '../../../worker/registry/proof.ts';
import { newId } from '../../../worker/registry/random.ts';
import { openTestRegistry, type TestRegistry } from './harness.ts';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
});

/** A device's requests, as if each were signed by its key. */
function newKey(): () => Proof {
  const thumbprint = newId();
  const jwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' } as const;
  return () => ({ jwk, thumbprint, jti: newId(), expiresAt: registry.clock.now + 60_000 });
}

async function start(sign = newKey()) {
  const asked = await startPairing(registry.around, sign(), {
    name: 'laptop',
    platform: 'linux x64',
    place: 'a test',
  });
  return { ...asked, poll: (by = sign) => pollPairing(registry.around, by(), asked.deviceCode) };
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof RegistryError ? error.code : error),
  );

const eventsOf = async (ctx: Context) =>
  (await listEvents(ctx)).events.map(({ type, details }) => [type, details]);

describe('check 25: a code belongs to the first caller who opens it', () => {
  test.each<[string, () => Promise<() => Context>, string]>([
    ['a second session of the account', () => registry.session(), 'access_denied'],
    [
      'a session of another account',
      async () => registry.session({ account: await registry.addAccount() }),
      'not_found',
    ],
  ])('%s neither sees, approves nor denies it', async (_, other, refusal) => {
    const [first, second] = [await registry.session(), await other()];
    const { userCode, poll } = await start();
    expect(await showPairing(first(), userCode)).toMatchObject({ state: 'pending', name: 'laptop' });
    for (const act of [showPairing, approvePairing, denyPairing])
      expect(await codeOf(act(second(), userCode))).toBe(refusal);
    expect(await codeOf(poll())).toBe('authorization_pending');
    expect(await registry.db.select().from(devices)).toEqual([]);

    expect(await approvePairing(first(), userCode)).toMatchObject({ state: 'approved' });
    for (const act of [approvePairing, denyPairing])
      expect(await codeOf(act(second(), userCode))).toBe(refusal);
    expect(await poll()).toMatchObject({ name: 'laptop', account: 'test' });
    expect(await eventsOf(first())).toEqual([
      ['device_paired', { name: 'laptop', platform: 'linux x64', place: 'a test' }],
    ]);
  });

  test('of eight that open it at once one gets it', async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => registry.session()));
    const { userCode } = await start();
    const seen = await Promise.all(sessions.map((session) => codeOf(showPairing(session(), userCode))));
    expect(seen.sort()).toEqual([...Array(7).fill('access_denied'), 'no error']);
  });

  test('a caller who may not let devices in claims nothing', async () => {
    const { userCode } = await start();
    expect(await codeOf(showPairing(await registry.ctx(['skills:write']), userCode))).toBe(
      'insufficient_scope',
    );
    const [pairing] = await registry.db.select().from(pairings);
    expect([pairing?.claimedBy, pairing?.accountId]).toEqual([null, null]);
    expect(await showPairing(await registry.ctx(), userCode)).toMatchObject({ state: 'pending' });
  });
});

describe('a session', () => {
  test.each([
    ['never', null],
    ['five minutes ago', -300_000],
  ])('whose passkey was checked %s does not approve, but denies', async (_, ago) => {
    const verifiedAt = ago === null ? null : registry.clock.now + ago;
    const session = await registry.session({ verifiedAt });
    const { userCode, poll } = await start();
    expect(await codeOf(approvePairing(session(), userCode))).toBe('passkey_required');
    expect(await codeOf(poll())).toBe('authorization_pending');
    expect(await denyPairing(session(), userCode)).toMatchObject({ state: 'denied' });
    expect(await codeOf(poll())).toBe('access_denied');
    expect(await registry.db.select().from(devices)).toEqual([]);
  });

  test('that ends while it approves lets nobody in', async () => {
    const session = await registry.session();
    const { userCode } = await start();
    const ctx = session();
    await showPairing(ctx, userCode);
    await registry.client.execute('update sessions set revoked_at = 1');
    expect(await codeOf(approvePairing(ctx, userCode))).toBe('unauthorized');
    expect(await registry.db.select().from(devices)).toEqual([]);
  });
});

describe('wrong codes', () => {
  test('check 24: of 10,000 guesses five are tried, so that one is right with a chance below 1e-6', async () => {
    const session = await registry.session();
    const { userCode } = await start();
    const tally: Record<string, number> = {};
    for (let round = 0; round < 100; round++) {
      const guesses = Array.from({ length: 100 }, (_, i) => guess(round * 100 + i));
      const codes = await Promise.all(guesses.map((code) => codeOf(approvePairing(session(), code))));
      for (const code of codes) tally[String(code)] = (tally[String(code)] ?? 0) + 1;
    }
    expect(tally).toEqual({ not_found: 5, rate_limited: 9995 });
    // A code is eight of twenty letters, and at most twenty requests from one place wait.
    expect(((tally.not_found ?? 0) * 20) / 20 ** 8).toBeLessThan(1e-6);
    expect(await codeOf(approvePairing(session(), userCode))).toBe('rate_limited');
    const [pairing] = await registry.db.select().from(pairings);
    expect([pairing?.state, pairing?.claimedBy]).toEqual(['pending', null]);
    expect(await registry.db.select().from(codeMisses)).toHaveLength(5);
    expect(await eventsOf(session())).toEqual([['pairing_locked', { name: 'Firefox on Linux' }]]);
  }, 300_000);

  test('at a lock that holds cost one read each, and write nothing', async () => {
    const session = await registry.session();
    const { userCode } = await start();
    for (let i = 0; i < 5; i++) await codeOf(showPairing(session(), guess(i)));
    const batches = vi.spyOn(registry.client, 'batch');
    for (const act of [showPairing, approvePairing, denyPairing]) {
      for (const code of [guess(6), userCode])
        expect(await codeOf(act(session(), code))).toBe('rate_limited');
    }
    expect(batches).toHaveBeenCalledTimes(6);
    const run = batches.mock.calls.flatMap(([statements]) =>
      statements.map((statement) =>
        typeof statement === 'object' && 'sql' in statement ? statement.sql : '',
      ),
    );
    expect(run.filter((text) => !text.startsWith('select'))).toEqual([]);
  });

  test('a lock says nothing to who may not approve', async () => {
    for (let i = 0; i < 5; i++) await codeOf(showPairing(await registry.ctx(), guess(i)));
    expect(await codeOf(showPairing(await registry.ctx(['skills:write']), guess(6)))).toBe(
      'insufficient_scope',
    );
  });

  test('lock the account, not another; each lock is one event', async () => {
    const session = await registry.session();
    const lock = async () => {
      for (let i = 0; i < 8; i++) await codeOf(showPairing(session(), guess(i)));
    };
    await lock();
    const { userCode } = await start();
    expect(await codeOf(showPairing(session(), userCode))).toBe('rate_limited');
    expect(await showPairing(await registry.stranger(), userCode)).toMatchObject({ state: 'pending' });
    registry.clock.now += 600_000;
    await lock();
    expect((await eventsOf(session())).map(([type]) => type)).toEqual(['pairing_locked', 'pairing_locked']);
  });
});

/** A code that no device waits with: its letters are none of those that codes are made of. */
function guess(n: number): string {
  const letters = [...String(n).padStart(8, '0')].map((digit) => 'AEIOUYAEIO'[Number(digit)]);
  return letters.join('');
}
