import { eq, lt } from 'drizzle-orm';
import type { DeviceToken } from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { devices, deviceTokens } from '../db/tables/devices.ts';
import type { Surroundings } from './context.ts';
import { batchWithProof, type Proof } from './proof.ts';
import { newSecret } from './random.ts';

const LIFE_S = 600;

/**
 * Gives a paired device an access token bound to its key (RFC 9449 section 5). The device holds no refresh token: a
 * fresh proof of its key is what buys the next one, so that a lost answer never unpairs it.
 * @throws RegistryError `unauthorized` when no device has the key, or it was revoked
 */
export async function issueDeviceToken(around: Surroundings, proof: Proof): Promise<DeviceToken> {
  const { db } = around;
  const now = around.now();
  const [[device]] = await batchWithProof(around, proof, [
    db
      .select({ id: devices.id, revokedAt: devices.revokedAt })
      .from(devices)
      .where(eq(devices.thumbprint, proof.thumbprint)),
  ]);
  if (!device)
    throw new RegistryError('unauthorized', 'No device with this key is paired here; pair it first.');
  if (device.revokedAt !== null)
    throw new RegistryError('unauthorized', 'This device was revoked; pair it again to use it.');
  const token = newSecret();
  await db.batch([
    db.delete(deviceTokens).where(lt(deviceTokens.expiresAt, now)),
    db
      .insert(deviceTokens)
      .values({ hash: await sha256(token), deviceId: device.id, expiresAt: now + LIFE_S * 1000 }),
  ]);
  return { access_token: token, token_type: 'DPoP', expires_in: LIFE_S };
}
