import { z } from 'zod';
import { Cursor } from './api.ts';

/** Registry to device, over `GET /api/v1/push` (WebSocket): "something changed, the registry is at this cursor". */
export const Ring = z.object({ type: z.literal('ring'), cursor: Cursor });
export type Ring = z.infer<typeof Ring>;

/** Sent by the device, answered by the runtime without waking the object. */
export const PING = 'ping';
export const PONG = 'pong';

/** Why the registry closed a socket. `retry` says whether the device connects again. */
export const CLOSE = {
  revoked: { code: 4401, reason: 'revoked', retry: false },
  replaced: { code: 4409, reason: 'replaced', retry: false },
  expired: { code: 4408, reason: 'expired', retry: true },
} as const;

/** Whether to connect again after a close with this code: yes unless the registry said stop. */
export function retryAfterClose(code: number): boolean {
  return !Object.values(CLOSE).some((close) => close.code === code && !close.retry);
}
