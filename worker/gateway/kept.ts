import type { Manifest } from '../../schema/riding/manifest.ts';
import type { Probe } from '../../schema/riding/probe.ts';
import type { Grant } from './oauth-client.ts';

/** What an isolate keeps of one server between requests: nothing large, which is for `shelf.ts`, and no connection. */
export interface Kept {
  /** Of the server, in this version. */
  readonly key: string;
  manifest: Manifest | null;
  probe: Probe | null;
  /** Of a connected server's tokens, while it is under way. */
  renewal: { readonly since: number; readonly grant: Promise<Grant> } | null;
  /** Requests under way, by who called and under which id, with the id that the server knows them by. */
  readonly underWay: Map<string, Set<string>>;
}

const MOST = 500;
const servers = new Map<string, Kept>();

/** What is kept of this version of a server: an edit of it begins anew. */
export function keptOf({ id, version }: { readonly id: string; readonly version: number }): Kept {
  const key = `${id} ${version}`;
  const known = servers.get(key);
  if (known) return known;
  const [oldest] = servers.keys();
  if (servers.size >= MOST && oldest !== undefined) servers.delete(oldest);
  const made: Kept = { key, manifest: null, probe: null, renewal: null, underWay: new Map() };
  servers.set(key, made);
  return made;
}
