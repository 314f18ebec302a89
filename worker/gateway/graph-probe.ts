import {
  type GraphMapping,
  type GraphSchema,
  graphTool,
  readGraph,
  type ToolAnswer,
} from '../../schema/riding/graph.ts';
import type { Kept } from './kept.ts';
import type { Upstream } from './upstream.ts';

/** A server is asked for its graph once in so long, however many lists are wanted. */
const FRESH_MS = 1000;
const DEADLINE_MS = 5000;

/**
 * The graph of a server, asked for at most once a second by an isolate and by one request for all that wait, until
 * somebody may have changed it. `failed` when no usable answer comes within five seconds.
 */
export async function probeGraph(
  upstream: Upstream,
  kept: Kept,
  mapping: GraphMapping,
  {
    tools,
    now,
    defer,
  }: {
    /** Names of the server's tools. */
    tools: ReadonlySet<string>;
    now: number;
    defer: (work: Promise<unknown>) => void;
  },
): Promise<GraphSchema | 'none' | 'failed'> {
  const name = graphTool(mapping, tools);
  if (name === null) return 'failed';
  if (!kept.graph || now - kept.graph.at >= FRESH_MS) {
    const schema = ask(upstream, mapping, name);
    kept.graph = { at: now, schema };
    // Others may wait for it when the request that asked is gone.
    defer(schema);
  }
  // What another request waits for may never come: its own deadline is not this one's.
  return Promise.race([kept.graph.schema, failedAfter(DEADLINE_MS)]);
}

/** Lets the next list ask again: a call was made that may have changed the graph. */
export function forgetGraph(kept: Kept): void {
  kept.graph = null;
}

async function ask(
  upstream: Upstream,
  mapping: GraphMapping,
  name: string,
): Promise<GraphSchema | 'none' | 'failed'> {
  try {
    const params = { name, arguments: mapping.arguments };
    const answer = await upstream.request('tools/call', params, {
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return 'error' in answer ? 'failed' : readGraph(mapping, answer.result as ToolAnswer);
  } catch {
    return 'failed';
  }
}

function failedAfter(ms: number): Promise<'failed'> {
  return new Promise((resolve) => setTimeout(resolve, ms, 'failed'));
}
