import type { DiscoverResult, Implementation, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Manifest } from '../../schema/riding/manifest.ts';
import type { Probe } from '../../schema/riding/probe.ts';
import type { Grant } from './oauth-client.ts';
import { Shelf } from './shelf.ts';

/** What is known of a server once it was spoken to. */
export interface Facts {
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly era:
    | { readonly type: 'modern'; readonly version: string; readonly discover: DiscoverResult }
    /** `session`: of a server that keeps one, which its state hangs on. */
    | { readonly type: 'legacy'; readonly version: string; readonly session: string | undefined };
}

/** What an isolate keeps of one server between requests: plain facts, no connection. What is large is on the {@link Shelf}. */
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

const facts = new Shelf<Facts>('facts');

/** What a caller's handshake with a server told: what one does in a session of the server is nothing to another. */
export class KeptFacts {
  readonly #key: string;

  constructor({ key }: Kept, callerId: string) {
    this.#key = `${key} ${callerId}`;
  }

  get(): Facts | undefined {
    return facts.get(this.#key);
  }

  set(told: Facts, chars: number): void {
    facts.set(this.#key, told, chars);
  }

  /** Lets go what is not so any more. */
  drop(told: Facts): void {
    if (this.get() === told) facts.delete(this.#key);
  }
}
