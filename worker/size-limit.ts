import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { RegistryError } from '../schema/errors.ts';
import { LIMITS } from '../schema/item.ts';

/** So much of a body that is refused is still taken in. */
const DRAINED_BYTES = 16 * 1024 * 1024;

/** Refuses a body over 3 MiB as `too_large`, with the sentence that says what to do instead. */
export function sizeLimit(sentence: string): MiddlewareHandler {
  return bodyLimit({
    maxSize: LIMITS.mcpBodyBytes,
    onError: async (c) => {
      await drain(c.req.raw.body);
      throw new RegistryError('too_large', sentence);
    },
  });
}

/** A caller that is still sending when the connection closes never reads why: it sees a broken connection. */
async function drain(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (!body || body.locked) return;
  const reader = body.getReader();
  for (let taken = 0; taken < DRAINED_BYTES; ) {
    const { done, value } = await reader.read();
    if (done) return;
    taken += value.byteLength;
  }
  await reader.cancel();
}
