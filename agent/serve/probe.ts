import { setTimeout as sleep } from 'node:timers/promises';
import type { GraphMapping, ToolAnswer } from '../../schema/riding/graph.ts';
import { createProbe, GRAPH_DEADLINE_MS, type Probe as GraphProbe } from '../../schema/riding/probe.ts';
import type { Upstream } from './upstream.ts';

/** A probe of the one server that is served. */
export interface Probe {
  look(tools: ReadonlySet<string>): ReturnType<GraphProbe['look']>;
  changed(): void;
}

/** Asks the served server for its graph, where the manifest says how. */
export function probeUpstream(upstream: Upstream, mapping: GraphMapping | null): Probe | null {
  if (!mapping) return null;
  const { look, changed } = createProbe(mapping, { now: Date.now, wait: sleep });
  const ask = (params: { name: string; arguments: Record<string, unknown> }) =>
    upstream.request({ method: 'tools/call', params }, { timeout: GRAPH_DEADLINE_MS }) as Promise<ToolAnswer>;
  return { look: (tools) => look(tools, ask), changed };
}
