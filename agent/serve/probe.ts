import {
  type GraphMapping,
  type GraphSchema,
  graphTool,
  readGraph,
  type ToolAnswer,
} from '../../schema/riding/graph.ts';

type Known = GraphSchema | 'none' | 'failed';

export interface Probe {
  /**
   * The graph's schema: one question at a time, and one a second. An answer that is younger serves again, unless
   * something may have changed the graph since; then this waits until it may ask. `tools` are the server's, by its names.
   */
  look(tools: ReadonlySet<string>): Promise<Known>;
  /** Something may have changed the graph. */
  changed(): void;
}

/** Never more than one question in this time. Milliseconds. */
const APART_MS = 1_000;
const DEADLINE_MS = 3_000;

/** Asks a server's own tool for its graph. `ask` rejects for whatever reason: the graph is then `failed`. */
export function createProbe(
  mapping: GraphMapping,
  ask: (call: { name: string; arguments: Record<string, unknown> }, timeout: number) => Promise<ToolAnswer>,
  { now = Date.now, wait = sleep } = {},
): Probe {
  let askedAt = Number.NEGATIVE_INFINITY;
  let known: Known | null = null;
  let running: Promise<Known> | null = null;

  let stale = false;

  async function once(tools: ReadonlySet<string>): Promise<Known> {
    const tool = graphTool(mapping, tools);
    if (tool === null) return 'failed';
    await wait(Math.max(0, askedAt + APART_MS - now()));
    askedAt = now();
    // What changes from here on, this question may miss.
    stale = false;
    try {
      const call = { name: tool, arguments: { ...mapping.arguments } };
      return readGraph(mapping, await ask(call, DEADLINE_MS));
    } catch {
      return 'failed';
    }
  }
  return {
    async look(tools) {
      while (running) {
        const found = await running;
        if (!stale) return found;
      }
      if (known !== null && !stale && now() < askedAt + APART_MS) return known;
      running = once(tools).finally(() => {
        running = null;
      });
      known = await running;
      return known;
    },
    changed() {
      stale = true;
    },
  };
}

function sleep(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
