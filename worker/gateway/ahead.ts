import type { OpenedServer } from '../registry/riding-source.ts';
import { keptOf } from './kept.ts';
import { LIST_DEADLINE_MS } from './session.ts';
import { listUpstreamTools, type ToolList } from './tool-list.ts';
import { type Target, Upstream } from './upstream.ts';

/**
 * How long a caller that the database let in is asked for ahead of its answer. Milliseconds, well below the two seconds in
 * which a revocation takes effect.
 */
export const TRUSTED_MS = 1000;

/** A list of tools that was asked for while the database still looks the caller up. The caller gets it from nobody but it. */
export interface Ahead {
  /** The list, where the server is still the one that was asked; null, and nothing more of that one, where it is another. */
  from(server: OpenedServer): Promise<ToolList> | null;
  /** The caller does not hold, so nothing is wanted of the server. */
  drop(): void;
}

/**
 * Asks a server for its tools on behalf of one who asked a moment ago. Clients shake hands and ask for the list at once, so
 * the way to a far database is saved for most of them. What a renewed login would write waits for the database.
 */
export function askAhead(
  server: OpenedServer,
  { callerId, target }: { callerId: string; target: () => Promise<Target> },
): Ahead | null {
  if (server.credentialType === 'oauth') return null;
  const kept = keptOf(server);
  const dropped = new AbortController();
  const upstream = new Upstream({ name: server.name, target, kept, callerId });
  const signal = AbortSignal.any([dropped.signal, AbortSignal.timeout(LIST_DEADLINE_MS)]);
  const list = listUpstreamTools(upstream, { name: server.name, key: kept.key }, signal);
  // Whoever takes it meets what went wrong.
  list.catch(() => undefined);
  const drop = () => dropped.abort();
  return {
    from({ id, version }) {
      if (id === server.id && version === server.version) return list;
      drop();
      return null;
    },
    drop,
  };
}
