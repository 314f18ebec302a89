import type { Tool } from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { activeSet, sameSkills } from '../../schema/riding/active-set.ts';
import { modeBanner } from '../../schema/riding/channels.ts';
import { composeTools, type Ride } from '../../schema/riding/compose.ts';
import { concerningNotes, concerns } from '../../schema/riding/concern.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { asksGraph } from '../../schema/riding/gate.ts';
import { evaluate, type Facts, type Inactive } from '../../schema/riding/gates.ts';
import { type Layer, resolveLayers } from '../../schema/riding/layers.ts';
import { applyOverrides } from '../../schema/riding/overrides.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';
import { loaderBeside } from './loader.ts';
import type { Probe } from './probe.ts';
import type { Project } from './project.ts';

/** What the tools and skills of a server are, for one request. */
export interface View {
  /** As shown, without what rides on them; the loader is the last one. */
  readonly tools: readonly Tool[];
  /** The server's name for each shown tool of its own. */
  readonly upstreamNames: ReadonlyMap<string, string>;
  /** Names of the server's own tools, hidden ones too. */
  readonly served: ReadonlySet<string>;
  readonly loader: string | null;
  readonly layers: readonly Layer[];
  readonly winners: ReturnType<typeof resolveLayers>['winners'];
  readonly facts: Facts;
  readonly active: readonly RidingSkill[];
  readonly inactive: readonly Inactive[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Puts tools and skills together: reads the layers, asks the graph where a gate needs it, and judges the gates. */
export async function takeView(
  { manifest, layers: readLayers }: Project,
  tools: readonly Tool[],
  probe: Probe | null,
): Promise<View> {
  const shown = applyOverrides(tools, manifest);
  const loader = manifest.skills === null ? null : loaderBeside(shown.tools);
  const all = loader ? [...shown.tools, loader] : shown.tools;
  const { layers, diagnostics } = readLayers(loader?.name ?? null);
  const { skills, winners } = resolveLayers(layers);
  const names = new Set(all.map(({ name }) => name));
  const concerned = skills.filter((skill) => concerns(skill, names));
  const served = new Set(tools.map(({ name }) => name));
  const graph = probe && asksGraph(concerned) ? await probe.look(served) : null;
  const facts: Facts = { tools: names, extensions: manifest.extensions, graph };
  const judged = evaluate(concerned, facts);
  const left = new Set(skills.filter((skill) => !concerned.includes(skill)).map(({ source }) => source));
  return {
    tools: all,
    upstreamNames: shown.upstreamNames,
    served,
    loader: loader?.name ?? null,
    layers,
    winners: winners.filter(({ skill }) => !left.has(skill.source)),
    facts,
    active: judged.active,
    inactive: judged.inactive,
    diagnostics: [
      ...shown.diagnostics,
      ...concerningNotes(diagnostics, { skills, concerned }),
      ...judged.diagnostics,
    ],
  };
}

/** The view's tools with the skills on them, as this client gets them. */
export function ridden(
  { tools, active, loader }: View,
  { manifest }: Project,
  client: ClientRow | null,
): { tools: Tool[]; rides: Ride[]; diagnostics: Diagnostic[] } {
  return composeTools({
    tools,
    active,
    delivery: manifest.delivery,
    cap: descriptionCap(client),
    loader,
    ...(client && { client: client.title }),
  });
}

/** As {@link ridden}, for one client. Most lists are the list of before, and then the answer is the same object. */
export function keepRidden(): typeof ridden {
  let last: { tools: string; active: View['active']; client: ClientRow | null } | null = null;
  let kept: ReturnType<typeof ridden>;
  return (view, project, client) => {
    const tools = JSON.stringify(view.tools);
    const { active } = view;
    if (last?.tools !== tools || last.client !== client || !sameSkills(last.active, active)) {
      last = { tools, active, client };
      kept = ridden(view, project, client);
    }
    return kept;
  };
}

/** The banner that says which tools are there only under conditions. */
export function bannerOf(view: View, { manifest }: Project): string {
  const { facts, winners, loader, served, upstreamNames } = view;
  return modeBanner({
    graph: manifest.graph,
    tools: facts.tools,
    upstreamNames,
    served,
    skills: winners.map(({ skill }) => skill),
    loader,
  });
}

/** Gives a text that differs when what is announced to clients differs. Most requests find the set of the one before. */
export function setTeller(): (view: View) => Promise<string> {
  let last: readonly RidingSkill[] = [];
  let told: Promise<string> | undefined;
  return ({ active }) => {
    if (told && sameSkills(active, last)) return told;
    last = active;
    told = activeSet(active);
    return told;
  };
}
