import type { Client } from '@libsql/client/web';
import { Scope } from '../../schema/api.ts';
import { sha256 } from '../../schema/digest.ts';
import { openDatabase } from '../db/client.ts';
import { tokens } from '../db/tables/programs.ts';
import { accounts } from '../db/tables/registry.ts';
import { newId, newSecret } from './random.ts';

/**
 * Creates the first account with its registry and an API token that has every scope, and returns the token; null when
 * there is an account. `keep` gets the token before the account exists, so that no crash leaves an account whose token
 * nobody has.
 */
export async function bootstrapAccount(
  client: Client,
  keep: (token: string) => Promise<void>,
  now = Date.now(),
): Promise<{ token: string } | null> {
  const db = openDatabase(client);
  const [existing] = await db.select({ id: accounts.id }).from(accounts).limit(1);
  if (existing) return null;
  const token = `sk_${newSecret()}`;
  await keep(token);
  const accountId = newId();
  await db.batch([
    db.insert(accounts).values({ id: accountId, name: 'owner', epoch: newId().slice(0, 12), createdAt: now }),
    db.insert(tokens).values({
      id: newId(),
      accountId,
      hash: await sha256(token),
      name: 'owner',
      scopes: [...Scope.options],
      createdAt: now,
    }),
  ]);
  return { token };
}
