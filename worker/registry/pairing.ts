import { and, eq, lt, sql } from 'drizzle-orm';
import type { Paired } from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { guardBroke } from '../db/client.ts';
import { devices, pairings } from '../db/tables/devices.ts';
import { accounts, guards } from '../db/tables/registry.ts';
import type { Surroundings } from './context.ts';
import { batchWithProof, type Proof } from './proof.ts';
import { newSecret } from './random.ts';

/** RFC 8628 section 3.2, seconds. */
export const PAIRING_LIFE_S = 600;
export const POLL_INTERVAL_S = 5;
/** How long a question may be held open, and how often it is looked at then. Milliseconds. */
export const MAX_WAIT_MS = 20_000;
const LOOK_MS = 400;

/** Twenty consonants: no vowel, so no word; nothing that reads like a digit (RFC 8628 section 6.1). */
const CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const PENDING_PER_PLACE = 20;

/** What a person reads before approving: nothing that breaks a line or reorders it. */
const SHOWN = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]+$/u;

interface Start {
  readonly name: string;
  readonly platform: string;
  /** Where the request came from, as the network tells: for the person who approves. */
  readonly place: string;
}

/**
 * A new device asks to be paired. It proves that it holds its key; a person approves the short code.
 * @throws RegistryError `rate_limited` when too many requests from one place wait, `invalid_input` for a name that is no line
 */
export async function startPairing(
  around: Surroundings,
  proof: Proof,
  { name, platform, place }: Start,
): Promise<{ deviceCode: string; userCode: string }> {
  const { db } = around;
  for (const [field, text] of Object.entries({ name, platform })) {
    if (!SHOWN.test(text)) {
      throw new RegistryError(
        'invalid_input',
        `The ${field} of the device holds control characters; send one line of plain text.`,
        { field },
      );
    }
  }
  const madeAt = around.now();
  const deviceCode = newSecret();
  const userCode = newUserCode();
  const waiting = sql`(select count(*) from ${pairings} where ${pairings.place} = ${place} and ${pairings.expiresAt} > ${madeAt} and ${pairings.state} = 'pending')`;
  try {
    await batchWithProof(around, proof, [
      db.delete(pairings).where(lt(pairings.expiresAt, madeAt - PAIRING_LIFE_S * 1000)),
      // Counted in the batch that writes, or of many requests at once each would find room.
      db.insert(guards).values({ holds: sql`${waiting} < ${PENDING_PER_PLACE}` }),
      db.delete(guards),
      db.insert(pairings).values({
        deviceCode: await sha256(deviceCode),
        userCode,
        jwk: proof.jwk,
        thumbprint: proof.thumbprint,
        name,
        platform,
        place,
        madeAt,
        expiresAt: madeAt + PAIRING_LIFE_S * 1000,
        state: 'pending',
      }),
    ]);
  } catch (error) {
    if (!guardBroke(error)) throw error;
    throw new RegistryError(
      'rate_limited',
      'Too many pairing requests from this place are waiting; approve or let them expire, then try again.',
      { retry_after_s: PAIRING_LIFE_S },
    );
  }
  return { deviceCode, userCode };
}

/**
 * The device asks whether it was approved, proving the key that asked. Success is given once. A device that says so is
 * answered when a person has decided, or after `waitMs` at the latest, so that it need not ask again to notice.
 * @throws RegistryError `authorization_pending`, `slow_down`, `access_denied`, `expired_token` (RFC 8628 section 3.5)
 */
export async function pollPairing(
  around: Surroundings,
  proof: Proof,
  deviceCode: string,
  waitMs = 0,
): Promise<Paired> {
  const { db } = around;
  const now = around.now();
  const own = and(
    eq(pairings.deviceCode, await sha256(deviceCode)),
    eq(pairings.thumbprint, proof.thumbprint),
  );
  let [[pairing]] = await batchWithProof(around, proof, [
    db.select().from(pairings).where(own),
    db.update(pairings).set({ lastPollAt: now }).where(own),
  ]);
  // A second of grace, for a device that counts its five seconds from when it sent the last question.
  if (
    pairing &&
    waits(pairing, now) &&
    pairing.lastPollAt !== null &&
    now - pairing.lastPollAt < (POLL_INTERVAL_S - 1) * 1000
  ) {
    throw new RegistryError(
      'slow_down',
      `The device asked again too soon; wait ${POLL_INTERVAL_S} seconds between questions.`,
      { retry_after_s: POLL_INTERVAL_S },
    );
  }
  for (let left = waitMs; left > 0 && pairing && waits(pairing, around.now()); left -= LOOK_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    [pairing] = await db.select().from(pairings).where(own);
  }
  if (!pairing || pairing.state === 'used') {
    throw new RegistryError(
      'expired_token',
      'This pairing code is not known, or was used already; start pairing again.',
    );
  }
  if (pairing.state === 'denied')
    throw new RegistryError('access_denied', 'The pairing was denied; start again if that was a mistake.');
  if (pairing.expiresAt <= around.now())
    throw new RegistryError(
      'expired_token',
      'The pairing code expired before anyone approved it; start pairing again.',
    );
  if (pairing.state === 'pending') {
    throw new RegistryError('authorization_pending', 'The pairing waits for approval.', {
      retry_after_s: POLL_INTERVAL_S,
    });
  }
  const [used] = await db
    .update(pairings)
    .set({ state: 'used' })
    .where(and(own, eq(pairings.state, 'approved')))
    .returning({ accountId: pairings.accountId });
  if (!used?.accountId)
    throw new RegistryError('expired_token', 'This pairing code was used already; start pairing again.');
  const [device, account] = await Promise.all([
    db
      .select({ id: devices.id, name: devices.name })
      .from(devices)
      .where(eq(devices.thumbprint, proof.thumbprint)),
    db.select({ name: accounts.name }).from(accounts).where(eq(accounts.id, used.accountId)),
  ]);
  if (!device[0] || !account[0]) throw new RegistryError('internal', 'The approved device is missing.');
  return { device: device[0].id, name: device[0].name, account: account[0].name };
}

function waits({ state, expiresAt }: typeof pairings.$inferSelect, now: number): boolean {
  return state === 'pending' && expiresAt > now;
}

/** Eight of the twenty letters as XXXX-XXXX, drawn without bias. */
function newUserCode(): string {
  const letters: string[] = [];
  while (letters.length < 8) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < 240) letters.push(CODE_LETTERS[byte % CODE_LETTERS.length] as string);
  }
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}
