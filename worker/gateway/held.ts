import { RegistryError } from '../../schema/errors.ts';
import type { Context } from '../registry/context.ts';

/** How often it is looked whether the caller's credential still holds. Milliseconds. */
const LOOK_MS = 1000;

/**
 * Does what may take minutes, and gives it up once the caller's credential has ended: revoking takes effect within two
 * seconds, also on an answer that streams.
 * @throws RegistryError `unauthorized` then
 */
export async function whileHeld<T>(ctx: Context, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const look = () =>
    ctx.requireHeld().catch((error: unknown) => {
      // A database that does not answer just now says nothing of the caller.
      if (error instanceof RegistryError && error.code === 'unauthorized') ended.abort(error);
    });
  const timer = setInterval(look, LOOK_MS);
  try {
    return await work(ended.signal);
  } catch (error) {
    ended.signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
  }
}
