import type { FetchLike } from '@modelcontextprotocol/client';
import { ServerCredential } from '../../schema/servers.ts';
import type { OpenedServer } from '../registry/riding-source.ts';
import { credentialOwner } from '../registry/servers.ts';
import type { Vault } from '../registry/vault.ts';
import type { Target } from './upstream.ts';

/** How an opened server is reached, with its credential. @throws RegistryError `unavailable` when that cannot be read */
export async function targetOf(server: OpenedServer, vault: Vault, fetch: FetchLike): Promise<Target> {
  const target = { name: server.name, url: new URL(server.upstream), fetch, authProvider: undefined };
  if (server.credential === null) return { ...target, headers: {} };
  const opened = await vault.open(server.credential, credentialOwner(server.id));
  return { ...target, ...spokenWith(ServerCredential.parse(JSON.parse(opened))) };
}

function spokenWith(credential: ServerCredential): Pick<Target, 'headers'> {
  switch (credential.type) {
    case 'none':
    case 'oauth':
      return { headers: {} };
    case 'bearer':
      return { headers: { authorization: `Bearer ${credential.token}` } };
    case 'header':
      return { headers: { [credential.name]: credential.value } };
  }
}
