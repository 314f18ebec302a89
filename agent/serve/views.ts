import type { Tool } from '@modelcontextprotocol/server';
import { asksGraph } from '../../schema/riding/gate.ts';
import { mayChangeGraph } from '../../schema/riding/graph.ts';
import { probeUpstream } from './probe.ts';
import type { Project } from './project.ts';
import type { Asked } from './relay.ts';
import type { Report } from './report.ts';
import { setTeller, takeView, type View } from './rider.ts';
import type { Upstream } from './upstream.ts';

/** What is known of one session's tools and skills. */
export interface Views {
  /** Judges everything anew, and says so when another set of skills is active than was last announced. */
  look(tools?: readonly Tool[]): Promise<View>;
  latest(): View | null;
  /** A call that may have changed the graph may have changed which skills are active. */
  changedBy(tool: { own: string; shown: string }, view: View): void;
  /** The server says that its tools have changed; the client hears that when they were judged, or could not be. */
  readAgain(notification: Asked): void;
}

export function keepViews({
  project,
  upstream,
  upstreamTools,
  report,
  tell,
  signal,
}: {
  project: Project;
  upstream: Upstream;
  /** The server's tools as they are just now. */
  upstreamTools: () => Promise<{ entries: readonly Tool[] }> | { entries: readonly Tool[] };
  report: Report;
  tell: (notification: Asked) => void;
  /** Aborts when nobody is there to be told any more. */
  signal: AbortSignal;
}): Views {
  const { graph } = project.manifest;
  const probe = probeUpstream(upstream, graph);
  const setOf = setTeller();
  let latest: View | null = null;
  let turns = 0;
  let rereading = false;
  let reread = false;
  let announced: { turn: number; set: string } | null = null;

  async function look(tools?: readonly Tool[], { toolsChanged = false } = {}): Promise<View> {
    const turn = ++turns;
    const view = await takeView(project, tools ?? (await upstreamTools()).entries, probe);
    report('skills', view.diagnostics);
    const set = await setOf(view);
    // One that began earlier and ended later knows less.
    const outdated = announced !== null && announced.turn > turn;
    const changed = !outdated && announced !== null && announced.set !== set;
    if (!outdated) {
      latest = view;
      announced = { turn, set };
    }
    if (toolsChanged || changed) tell({ method: 'notifications/tools/list_changed' });
    if (changed) tell({ method: 'notifications/prompts/list_changed' });
    return view;
  }

  /** A server that says a thousand times that its tools have changed is asked once more, not a thousand times. */
  async function untilStill(notification: Asked): Promise<void> {
    rereading = true;
    do {
      reread = false;
      await look(undefined, { toolsChanged: true }).catch(() => tell(notification));
    } while (reread && !signal.aborted);
    rereading = false;
  }

  return {
    look: (tools) => look(tools),
    latest: () => latest,
    changedBy({ own, shown }, { tools, winners }) {
      if (!probe || !graph) return;
      const { annotations } = tools.find(({ name }) => name === shown) ?? {};
      if (!mayChangeGraph(graph, { name: own, ...(annotations && { annotations }) })) return;
      probe.changed();
      if (asksGraph(winners.map(({ skill }) => skill))) void look().catch(() => undefined);
    },
    readAgain(notification) {
      if (rereading) reread = true;
      else void untilStill(notification);
    },
  };
}
