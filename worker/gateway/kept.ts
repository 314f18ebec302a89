import type { DiscoverResult, Implementation, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import type { Manifest } from '../../schema/riding/manifest.ts';
import type { Probe } from '../../schema/riding/probe.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import type { Grant } from './oauth-client.ts';

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

/** One skill per name, and what there is to say of those that are none. */
export interface Resolved {
  readonly skills: readonly RidingSkill[];
  readonly diagnostics: readonly Diagnostic[];
}

/** What an isolate keeps of one server between requests: plain facts, no connection. */
export interface Kept {
  /** By who calls: what one does in a session of the server is nothing to another. */
  readonly facts: Map<string, Facts>;
  manifest: Manifest | null;
  probe: Probe | null;
  /** Of a connected server's tokens, while it is under way. */
  renewal: { readonly since: number; readonly grant: Promise<Grant> } | null;
  /** Skills as read from the contents that `of` names: reading hundreds anew costs more than all the rest of a list. */
  resolved: (Resolved & { readonly of: string }) | null;
  /** Requests under way, by who called and under which id, with the id that the server knows them by. */
  readonly underWay: Map<string, Set<string>>;
}

const MOST = 500;
const MOST_CALLERS = 100;
const servers = new Map<string, Kept>();

/** What is kept of this version of a server: an edit of it begins anew. */
export function keptOf({ id, version }: { readonly id: string; readonly version: number }): Kept {
  const key = `${id} ${version}`;
  const known = servers.get(key);
  if (known) return known;
  makeRoom(servers, MOST);
  const made: Kept = {
    facts: new Map(),
    manifest: null,
    probe: null,
    renewal: null,
    resolved: null,
    underWay: new Map(),
  };
  servers.set(key, made);
  return made;
}

/** Keeps what a caller's handshake with a server told. */
export function keepFacts({ facts }: Pick<Kept, 'facts'>, callerId: string, told: Facts): void {
  facts.delete(callerId);
  makeRoom(facts, MOST_CALLERS);
  facts.set(callerId, told);
}

function makeRoom(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size >= most && oldest !== undefined) map.delete(oldest);
}
