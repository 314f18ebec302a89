import type { Notify } from '../registry/context.ts';
import { type Bell, bellHeaders } from './bell.ts';
import type { Doorbell } from './doorbell.ts';

/** The push room as the rest of the Worker sees it. Each account has a doorbell of its own. */
export interface Push {
  readonly notify: Notify;
  /** Ids of the account's devices that are connected. */
  online(accountId: string): Promise<string[]>;
  /** Opens a socket for a device that has been authenticated: a 101 answer. */
  connect(accountId: string, bell: Bell): Promise<Response>;
  /** The socket that the newest one of a device has replaced though its peer was alive. Takes seconds. */
  contested(accountId: string, device: string): Promise<Bell | null>;
}

export function createPush(doorbells: DurableObjectNamespace<Doorbell>): Push {
  return {
    async notify(event) {
      const doorbell = doorbells.getByName(event.accountId);
      if ('revoked' in event) await doorbell.revoke(event.revoked);
      else await doorbell.ring(event.cursor);
    },
    online: async (accountId) => await doorbells.getByName(accountId).online(),
    connect: (accountId, bell) =>
      doorbells.getByName(accountId).fetch('https://doorbell/', { headers: bellHeaders(bell) }),
    contested: async (accountId, device) => await doorbells.getByName(accountId).contested(device),
  };
}
