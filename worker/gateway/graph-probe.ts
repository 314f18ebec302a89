import type { GraphMapping, GraphSchema, ToolAnswer } from '../../schema/riding/graph.ts';
import { createProbe, GRAPH_DEADLINE_MS } from '../../schema/riding/probe.ts';
import type { Kept } from './kept.ts';
import type { Upstream } from './upstream.ts';

/** Longer than a question and the wait before it take. */
const PATIENCE_MS = 5000;

/**
 * The graph of a server, asked for at most once a second by an isolate and by one request for all that wait. `failed` when
 * no usable answer comes in time.
 */
export async function probeGraph(
  upstream: Upstream,
  kept: Kept,
  mapping: GraphMapping,
  {
    tools,
    now,
    left,
    defer,
  }: {
    /** Names of the server's tools. */
    tools: ReadonlySet<string>;
    now: () => number;
    /** What is left of the time that the server has for the request. Milliseconds. */
    left: number;
    defer: (work: Promise<unknown>) => void;
  },
): Promise<GraphSchema | 'none' | 'failed'> {
  kept.probe ??= createProbe(mapping, { now, wait });
  const look = kept.probe.look(tools, async (params) => {
    const answer = await upstream.request('tools/call', params, {
      signal: AbortSignal.timeout(GRAPH_DEADLINE_MS),
    });
    if ('error' in answer) throw new Error('The question for the graph was refused.');
    return answer.result as ToolAnswer;
  });
  // Others may wait for it when the request that asked is gone.
  defer(look);
  // What another request waits for may never come: its own deadline is not this one's.
  return Promise.race([look, wait(Math.min(left, PATIENCE_MS)).then(() => 'failed' as const)]);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
