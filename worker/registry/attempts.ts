import { lte, sql } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import type { Database } from '../db/client.ts';
import { attempts } from '../db/tables/people.ts';

/**
 * Counts one try at something that may be tried `max` times in a window of `windowMs`. The count is written before the
 * try itself, or of many tries at once each would be the first. `bucket` names what is tried and by whom, as
 * `login:1.2.3.4`; it holds no secret.
 * @throws RegistryError `rate_limited` with the seconds until the window ends
 */
export async function takeAttempt(
  db: Database,
  { bucket, max, windowMs, now }: { bucket: string; max: number; windowMs: number; now: number },
): Promise<void> {
  const [, [taken]] = await db.batch([
    db.delete(attempts).where(lte(attempts.resetsAt, now)),
    db
      .insert(attempts)
      .values({ bucket, count: 1, resetsAt: now + windowMs })
      .onConflictDoUpdate({ target: attempts.bucket, set: { count: sql`${attempts.count} + 1` } })
      .returning({ count: attempts.count, resetsAt: attempts.resetsAt }),
  ]);
  if (taken && taken.count > max) {
    const wait = Math.ceil((taken.resetsAt - now) / 1000);
    throw new RegistryError(
      'rate_limited',
      `This was tried too often from where you are; try again in ${wait < 120 ? `${wait} seconds` : `${Math.ceil(wait / 60)} minutes`}.`,
      { retry_after_s: wait },
    );
  }
}
