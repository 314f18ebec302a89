import type { FetchLike } from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';
import { requirePublicAddress } from '../registry/server-address.ts';

/** Bytes of one answer, however it comes: a tool's result may carry files, but no isolate holds much more. */
const ANSWER_BYTES = 16 * 1024 * 1024;

/** The platform's `fetch`; on Cloudflare with `global_fetch_strictly_public`, on one machine with public addresses only. */
export type PlatformFetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * The one way out to other servers. Guarantees:
 * - only public addresses over TLS; this machine's too where `loopback` says so;
 * - no redirect is followed here, so no header of ours ever reaches another origin by one;
 * - an answer of more than 16 MiB ends there, whether its length was announced or not;
 * - nothing is kept or taken from a cache, and no cookie is sent.
 */
export function createOutbound(fetch: PlatformFetch, { loopback }: { loopback: boolean }): FetchLike {
  return async (address, init = {}) => {
    const url = requirePublicAddress(String(address), { loopback });
    const response = await fetch(url.href, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    const body = limited(response.body, url.host);
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

/** The same way out, for what has to be there within this time, milliseconds. */
export function within(ms: number, fetch: FetchLike): FetchLike {
  return (url, init) => {
    const late = AbortSignal.timeout(ms);
    const signal = init?.signal ? AbortSignal.any([init.signal, late]) : late;
    return fetch(url, { ...init, signal });
  };
}

/** A transform would do the same, at a third of what all the rest of a request costs in workerd. */
function limited(body: ReadableStream<Uint8Array>, host: string): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let taken = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        taken += value.byteLength;
        if (taken <= ANSWER_BYTES) return controller.enqueue(value);
        const error = tooLarge(host);
        void reader.cancel(error).catch(() => undefined);
        throw error;
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function tooLarge(host: string): RegistryError {
  return new RegistryError(
    'unavailable',
    `${host} answered with more than 16 MiB, so the answer was dropped; ask for less at a time.`,
  );
}
