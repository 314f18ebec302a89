import type { Context, MiddlewareHandler } from 'hono';
import { RegistryError } from '../schema/errors.ts';
import { LIMITS } from '../schema/item.ts';

/** So much of a body that nobody reads is still taken in, for so long. */
const DRAINED_BYTES = 16 * 1024 * 1024;
const DRAINED_MS = 5000;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Refuses a body over 3 MiB as `too_large`, with the sentence that says what to do instead. */
export function sizeLimit(sentence: string): MiddlewareHandler {
  return bodyLimit(LIMITS.mcpBodyBytes, () => {
    throw new RegistryError('too_large', sentence);
  });
}

/**
 * Has a body over `maxBytes` refused, whether its length is declared or not. Hono's own middleware keeps the reader of a
 * body that it stopped reading to itself, so that nobody can {@link drain} the rest.
 */
export function bodyLimit(maxBytes: number, refuse: (c: Context) => Response): MiddlewareHandler {
  return async (c, next) => {
    const { body, headers } = c.req.raw;
    if (!body) return next();
    if (headers.has('content-length') && !headers.has('transfer-encoding')) {
      if (Number(headers.get('content-length')) <= maxBytes) return next();
      await drain(body.getReader());
      return refuse(c);
    }
    const reader: Reader = body.getReader();
    const bytes = await readUpTo(maxBytes, reader);
    if (!bytes) {
      await drain(reader);
      return refuse(c);
    }
    c.req.raw = new Request(c.req.raw, { body: bytes });
    return next();
  };
}

/** Takes in what a refusal left unread. */
export const takeUnread: MiddlewareHandler = async (c, next) => {
  const request = c.req.raw;
  await next();
  if (request.body && !request.bodyUsed && !request.body.locked) await drain(request.body.getReader());
};

/** What a body gives. @throws RegistryError `invalid_input` when it breaks off: its sender has gone, and no log need say so */
export async function arrived<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new RegistryError(
      'invalid_input',
      'The body broke off before its end; send it again.',
      {},
      { cause },
    );
  }
}

/** The whole body; null when there is more, of which one piece was taken. */
async function readUpTo(maxBytes: number, reader: Reader): Promise<ArrayBuffer | null> {
  const held = new ArrayBuffer(0, { maxByteLength: maxBytes });
  for (;;) {
    const { done, value } = await arrived(reader.read());
    if (done) return held.transferToFixedLength();
    const size = held.byteLength;
    if (size + value.byteLength > maxBytes) return null;
    held.resize(size + value.byteLength);
    new Uint8Array(held, size).set(value);
  }
}

/** A caller that is still sending when the connection closes never reads the answer: it sees a broken connection. */
async function drain(reader: Reader): Promise<void> {
  const late = setTimeout(() => void reader.cancel().catch(() => undefined), DRAINED_MS);
  try {
    for (let taken = 0; taken < DRAINED_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      taken += value.byteLength;
    }
    await reader.cancel();
  } catch {
    // It has gone.
  } finally {
    clearTimeout(late);
  }
}
