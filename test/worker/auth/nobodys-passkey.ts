import type { passkeys } from '../../../worker/db/tables/people.ts';
import { newId } from '../../../worker/registry/random.ts';

/** A row for an account that has a passkey with which nobody can sign. */
export function nobodysPasskey(accountId: string, createdAt = 0): typeof passkeys.$inferInsert {
  return {
    id: newId(),
    accountId,
    publicKey: new Uint8Array([0]),
    counter: 0,
    transports: [],
    synced: false,
    name: 'a test key',
    createdAt,
  };
}
