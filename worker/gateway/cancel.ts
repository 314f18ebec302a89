import { z } from 'zod';
import type { ServerSession } from './session.ts';

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

/**
 * Passes on that requests are not waited for any more. Without sessions such a message comes by itself, so it is the
 * caller and the request's id that tell which is meant; where two of a caller's programs use the same id at once, neither
 * is ended. Best effort: the request may be with another isolate.
 */
export function* cancelled(
  { kept, upstream }: Pick<ServerSession, 'kept' | 'upstream'>,
  callerId: string,
  messages: readonly unknown[],
): Iterable<Promise<void>> {
  for (const message of messages) {
    const parsed = Cancelled.safeParse(message);
    if (!parsed.success) continue;
    const ids = kept.underWay.get(`${callerId} ${JSON.stringify(parsed.data.params.requestId)}`) ?? [];
    const [only, ...others] = ids;
    if (only !== undefined && others.length === 0) yield upstream.cancel(only);
  }
}
