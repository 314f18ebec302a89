import { setTimeout as sleep } from 'node:timers/promises';
import type { GraphMapping, ToolAnswer } from '../../schema/riding/graph.ts';
import {
  GRAPH_DEADLINE_MS,
  type Probe as GraphProbe,
  createProbe as probeGraph,
} from '../../schema/riding/probe.ts';

/** A probe of the one server that is served. */
export interface Probe {
  look(tools: ReadonlySet<string>): ReturnType<GraphProbe['look']>;
  changed(): void;
}

/** Asks the served server for its graph. `ask` rejects for whatever reason: the graph is then `failed`. */
export function createProbe(
  mapping: GraphMapping,
  ask: (call: { name: string; arguments: Record<string, unknown> }, timeout: number) => Promise<ToolAnswer>,
  { now = Date.now, wait = sleep as (ms: number) => Promise<unknown> } = {},
): Probe {
  const { look, changed } = probeGraph(mapping, { now, wait });
  return { look: (tools) => look(tools, (call) => ask(call, GRAPH_DEADLINE_MS)), changed };
}
