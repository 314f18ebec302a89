import type { CacheHint } from '@modelcontextprotocol/server';

/** Lists may be kept for five seconds, and only for the person they were made for. */
export const LIST_CACHE = { ttlMs: 5000, cacheScope: 'private' } as const satisfies CacheHint;
/** The handshake is fitted to the caller, who is no part of a cache's key. */
export const NO_CACHE = { ttlMs: 0, cacheScope: 'private' } as const satisfies CacheHint;
