import type { ClientRow } from '../../schema/clients.ts';
import type { Ride } from '../../schema/riding/compose.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { describeClause } from '../../schema/riding/gate.ts';
import { enabledExtensions } from '../../schema/riding/gates.ts';
import { graphTool } from '../../schema/riding/graph.ts';
import { probeUpstream } from './probe.ts';
import type { Project } from './project.ts';
import type { Reach } from './reach.ts';
import { ridden, takeView, type View } from './rider.ts';
import { Upstream } from './upstream.ts';

/** Everything that decides what a client is told about a server's tools, and what it is told. */
export interface Explanation {
  manifest: string;
  name: string;
  /** False when the manifest leaves skills off. */
  riding: boolean;
  /** Highest first. */
  layers: { kind: string; label: string; skills: string[] }[];
  skills: {
    name: string;
    source: string;
    layer: string;
    state: 'active' | 'inactive';
    /** Clauses of the gate, and those of them that are not satisfied. */
    gate: string[];
    failed: string[];
    /** Sources of the skills of the same name in lower layers. */
    masks: string[];
  }[];
  /** What gates are judged by: the tools that are shown, the extensions that are on, and the graph or why there is none. */
  facts: { tools: string[]; extensions: string[]; graph: Record<string, string[]> | string };
  /** Title of the client, and the cap on a description in characters; null where none is known. */
  client: string | null;
  cap: number | null;
  tools: { name: string; description: string; length: number; ride: Ride | null }[];
  diagnostics: Diagnostic[];
}

export interface ExplainOptions {
  project: Project;
  reach: Reach;
  client: ClientRow | null;
  version: string;
  said: (line: string) => void;
  log: (sentence: string) => void;
}

/** Starts the server, looks once, and ends it again. @throws UpstreamGone */
export async function explain(options: ExplainOptions): Promise<Explanation> {
  const { project, client } = options;
  const { view, close } = await lookOnce(options);
  await close();
  const composed = ridden(view, project, client);
  const failed = new Map(view.inactive.map((inactive) => [inactive.skill, inactive.failed]));
  return {
    manifest: project.path,
    name: project.name,
    riding: project.manifest.skills !== null,
    layers: view.layers
      .map(({ kind, label, skills }) => ({ kind, label, skills: skills.map(({ name }) => name) }))
      .reverse(),
    skills: view.winners.map(({ skill, layer, masked }) => ({
      name: skill.name,
      source: skill.source,
      layer: layer.kind,
      state: failed.has(skill) ? 'inactive' : 'active',
      gate: (skill.gate ?? []).map(describeClause),
      failed: (failed.get(skill) ?? []).map(describeClause),
      masks: masked.map((each) => each.skill.source),
    })),
    facts: {
      tools: [...view.facts.tools],
      extensions: enabledExtensions(view.facts),
      graph: graphOf(view, project),
    },
    client: client?.title ?? null,
    cap: descriptionCap(client),
    tools: composed.tools.map(({ name, description = '' }) => ({
      name,
      description,
      length: description.length,
      ride: composed.rides.find(({ tool }) => tool === name) ?? null,
    })),
    diagnostics: [...view.diagnostics, ...composed.diagnostics],
  };
}

/** The tools and skills of a server that is started for this one look. */
export async function lookOnce({ project, reach, version, said, log }: Omit<ExplainOptions, 'client'>) {
  const upstream = new Upstream({
    name: project.name,
    reach,
    caller: { era: 'legacy', info: { name: 'repertoire', version }, capabilities: {} },
    said,
    log,
    onNotification: () => {},
    onRequest: () => Promise.reject(new Error('Nobody is there to ask.')),
  });
  const probe = probeUpstream(upstream, project.manifest.graph);
  try {
    const view = await takeView(project, await upstream.tools(), probe);
    return { view, close: () => upstream.close() };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

function graphOf({ facts: { graph }, served }: View, { manifest }: Project): Explanation['facts']['graph'] {
  if (manifest.graph === null) return 'not asked, since the manifest has no `graph`';
  if (graph === null) return 'not asked, since no skill depends on it';
  if (graph === 'none') return 'none is active';
  if (graph !== 'failed') {
    return Object.fromEntries([...graph].map(([label, properties]) => [label, [...properties]]));
  }
  const tool = graphTool(manifest.graph, served);
  return tool === null
    ? `cannot be asked, since the server has no tool ${manifest.graph.tools.join(' or ')}`
    : `unknown, since ${tool} gave no answer that tells it`;
}
