import { type GraphMapping, type GraphSchema, graphTool, readGraph, type ToolAnswer } from './graph.ts';

type Known = GraphSchema | 'none' | 'failed';

/** Calls the tool that tells the graph; rejects for whatever reason. */
type AskGraph = (call: { name: string; arguments: Record<string, unknown> }) => Promise<ToolAnswer>;

export interface Probe {
  /**
   * The graph's schema: one question at a time, and one a second. An answer that is younger serves again, unless
   * something may have changed the graph since; then this waits until it may ask. `tools` are the server's, by its names.
   */
  look(tools: ReadonlySet<string>, ask: AskGraph): Promise<Known>;
  /** Something may have changed the graph. */
  changed(): void;
}

/** Never more than one question in this time. Milliseconds. */
const APART_MS = 1_000;
/** After this time a question counts as unanswered. Milliseconds; the host sees to it. */
export const GRAPH_DEADLINE_MS = 3_000;

/** Asks a server's own tool for its graph, and knows for a second. What cannot be asked or read is `failed`. */
export function createProbe(
  mapping: GraphMapping,
  { now, wait }: { now: () => number; wait: (ms: number) => Promise<unknown> },
): Probe {
  let askedAt = Number.NEGATIVE_INFINITY;
  let known: Known | null = null;
  let running: { readonly since: number; readonly answer: Promise<Known> } | null = null;
  let stale = false;

  async function once(tools: ReadonlySet<string>, ask: AskGraph): Promise<Known> {
    const name = graphTool(mapping, tools);
    if (name === null) return 'failed';
    const early = askedAt + APART_MS - now();
    if (early > 0) await wait(early);
    askedAt = now();
    // What changes from here on, this question may miss.
    stale = false;
    try {
      return readGraph(mapping, await ask({ name, arguments: { ...mapping.arguments } }));
    } catch {
      return 'failed';
    }
  }

  /** A host may end who asked before the answer comes: that one is not waited for for ever. */
  function underWay(): Promise<Known> | null {
    if (running && now() - running.since > APART_MS + GRAPH_DEADLINE_MS) running = null;
    return running?.answer ?? null;
  }

  return {
    async look(tools, ask) {
      for (let answer = underWay(); answer; answer = underWay()) {
        const found = await answer;
        if (!stale) return found;
      }
      if (known !== null && !stale && now() < askedAt + APART_MS) return known;
      const mine = {
        since: now(),
        answer: once(tools, ask).finally(() => {
          if (running === mine) running = null;
        }),
      };
      running = mine;
      known = await mine.answer;
      return known;
    },
    changed() {
      stale = true;
    },
  };
}
