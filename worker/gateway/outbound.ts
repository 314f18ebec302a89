import type { FetchLike } from '@modelcontextprotocol/client';
import { requirePublicAddress } from '../registry/server-address.ts';
import { limitedAnswer } from './answer.ts';

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
    const asked = init.method === 'POST' && typeof init.body === 'string' ? init.body : null;
    return limitedAnswer(response, { host: url.host, asked });
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
