import { and, count, eq, gt, isNull, lte, ne, or, sql } from 'drizzle-orm';
import type { PairingRequest } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { fingerprintWords } from '../../schema/fingerprint.ts';
import { brokenConstraint, guardBroke } from '../db/client.ts';
import { codeMisses, devices, pairings } from '../db/tables/devices.ts';
import { guards } from '../db/tables/registry.ts';
import { eventStatement } from './account-events.ts';
import type { Context } from './context.ts';
import { newId } from './random.ts';

const MISSES = 5;
const MISS_WINDOW_MS = 10 * 60_000;

/**
 * What the person who types a code is shown before approving. The first caller who opens a code claims it: nobody else may
 * settle it. Wrong codes count: five in ten minutes lock the account.
 * @throws RegistryError `not_found` for no code of this account's, `access_denied` for one that another caller of the
 * account has claimed, `rate_limited` when locked
 */
export async function showPairing(ctx: Context, userCode: string): Promise<PairingRequest> {
  return describe(await openCode(ctx, userCode));
}

/**
 * Lets a waiting device into the caller's account.
 * @throws RegistryError as {@link showPairing}, `passkey_required`, `expired_token` when it was settled already,
 * `access_denied` for a key that is known
 */
export async function approvePairing(ctx: Context, userCode: string): Promise<PairingRequest> {
  const pairing = await openCode(ctx, userCode);
  ctx.requireFreshPasskey();
  const { accountId } = ctx.actor;
  const { name, platform, place, thumbprint } = pairing;
  const now = ctx.now();
  const waits = sql`exists (select 1 from ${pairings} where ${pairings.deviceCode} = ${pairing.deviceCode} and ${pairings.state} = 'pending' and ${pairings.expiresAt} > ${now})`;
  try {
    await ctx.write([
      ctx.db.insert(guards).values({ holds: waits }),
      ctx.db.insert(devices).values({ id: newId(), accountId, name, platform, thumbprint, pairedAt: now }),
      ctx.db
        .update(pairings)
        .set({ state: 'approved', approvedBy: ctx.author })
        .where(eq(pairings.deviceCode, pairing.deviceCode)),
      eventStatement(ctx.db, {
        accountId,
        at: now,
        type: 'device_paired',
        details: { name, platform, place },
      }),
    ]);
  } catch (error) {
    if (guardBroke(error)) throw settled(pairing.state);
    if (brokenConstraint(error)?.startsWith('UNIQUE devices.')) {
      throw new RegistryError(
        'access_denied',
        'A device with this key is paired already, or was once; pair again with a new key.',
      );
    }
    throw error;
  }
  return { ...describe(pairing), state: 'approved' };
}

/** Refuses a waiting device. @throws RegistryError as {@link showPairing}, `expired_token` when it was settled already */
export async function denyPairing(ctx: Context, userCode: string): Promise<PairingRequest> {
  const pairing = await openCode(ctx, userCode);
  const [denied] = await ctx.write([
    ctx.db
      .update(pairings)
      .set({ state: 'denied' })
      .where(and(eq(pairings.deviceCode, pairing.deviceCode), eq(pairings.state, 'pending')))
      .returning({ state: pairings.state }),
  ]);
  if (denied.length === 0) throw settled(pairing.state);
  return { ...describe(pairing), state: 'denied' };
}

type Pairing = typeof pairings.$inferSelect;

async function openCode(ctx: Context, typed: string): Promise<Pairing> {
  const letters = typed
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, '')
    .slice(0, 20);
  const code = `${letters.slice(0, 4)}-${letters.slice(4)}`;
  const now = ctx.now();
  const since = now - MISS_WINDOW_MS;
  const [[before]] = await ctx.batch([
    ctx.db
      .select({ n: count() })
      .from(codeMisses)
      .where(and(eq(codeMisses.accountId, ctx.account), gt(codeMisses.at, since))),
  ]);
  const { accountId, type, id, name } = ctx.actor;
  // Who may not approve must not be able to lock those who may, nor to claim what they would open.
  ctx.require('devices:write');
  if (letters.length !== 8) {
    throw new RegistryError(
      'not_found',
      'A pairing code has eight letters, such as BCDF-GHJK; type it as the device shows it.',
    );
  }
  // Most guesses are made at a lock that holds: each costs this read.
  if (before && before.n >= MISSES) throw locked();
  const caller = `${type}:${id}`;
  const waits = and(eq(pairings.userCode, code), gt(pairings.expiresAt, now), ne(pairings.state, 'used'));
  const mine = and(waits, or(isNull(pairings.accountId), eq(pairings.accountId, accountId)));
  const window = and(eq(codeMisses.accountId, accountId), gt(codeMisses.at, since));
  const missed = sql`(select count(*) from ${codeMisses} where ${window})`;
  const missing = sql`not exists (select 1 from ${pairings} where ${mine})`;
  // A miss is written where it is counted, or of many guesses at once each would be among the first five.
  const [, [counted], , [pairing]] = await ctx.write([
    ctx.db.delete(codeMisses).where(lte(codeMisses.at, since)),
    ctx.db.select({ n: sql<number>`${missed}` }).from(sql`(select 1)`),
    ctx.db
      .update(pairings)
      .set({ claimedBy: caller, accountId })
      .where(and(waits, isNull(pairings.claimedBy), sql`${missed} < ${MISSES}`)),
    ctx.db.select().from(pairings).where(waits),
    eventStatement(ctx.db, {
      accountId,
      at: now,
      type: 'pairing_locked',
      details: { name },
      when: sql`${missed} = ${MISSES - 1} and ${missing}`,
    }),
    ctx.db
      .insert(codeMisses)
      .select(sql`select ${accountId}, ${now} where ${missed} < ${MISSES} and ${missing}`),
  ]);
  if (counted && counted.n >= MISSES) throw locked();
  if (!pairing) {
    throw new RegistryError(
      'not_found',
      `No device waits with the code ${code}; read the code on the device again, it lives ten minutes.`,
    );
  }
  if (pairing.accountId !== accountId) {
    throw new RegistryError(
      'not_found',
      `Somebody else has opened the code ${code} before you; start pairing again on the device for a new code.`,
    );
  }
  if (pairing.claimedBy !== caller) {
    throw new RegistryError(
      'access_denied',
      `The code ${code} was opened in another session first, and only there it can be approved or denied; go on there, or start pairing again on the device.`,
    );
  }
  return pairing;
}

function locked(): RegistryError {
  return new RegistryError(
    'rate_limited',
    'Five wrong pairing codes in ten minutes: approving is locked for a while; start pairing again later.',
    { retry_after_s: MISS_WINDOW_MS / 1000 },
  );
}

function settled(state: Pairing['state']): RegistryError {
  return new RegistryError(
    'expired_token',
    `This code was ${state === 'pending' ? 'used' : state} already; start pairing again on the device.`,
  );
}

function describe(pairing: Pairing): PairingRequest {
  return {
    user_code: pairing.userCode,
    name: pairing.name,
    platform: pairing.platform,
    fingerprint: fingerprintWords(pairing.thumbprint),
    place: pairing.place,
    made_at: pairing.madeAt,
    state: pairing.state,
  };
}
