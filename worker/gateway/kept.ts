import type { DiscoverResult, Implementation, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import type { GraphSchema } from '../../schema/riding/graph.ts';
import type { Manifest } from '../../schema/riding/manifest.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';

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

/** The graph as it was last asked for; whoever changes it takes this away. */
interface KeptGraph {
  /** Milliseconds. */
  readonly at: number;
  readonly schema: Promise<GraphSchema | 'none' | 'failed'>;
}

/** One skill per name, and what there is to say of those that are none. */
export interface Resolved {
  readonly skills: readonly RidingSkill[];
  readonly diagnostics: readonly Diagnostic[];
}

/** What an isolate keeps of one server between requests: plain facts, no connection. */
export interface Kept {
  facts: Facts | null;
  manifest: Manifest | null;
  graph: KeptGraph | null;
  /** Skills as read from the contents that `of` names: reading hundreds anew costs more than all the rest of a list. */
  resolved: (Resolved & { readonly of: string }) | null;
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
  const made: Kept = { facts: null, manifest: null, graph: null, resolved: null, underWay: new Map() };
  servers.set(key, made);
  return made;
}
