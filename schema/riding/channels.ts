import { compareBytes } from '../digest.ts';
import { type GraphMapping, graphTool, type ToolAnswer } from './graph.ts';
import type { RidingSkill } from './skill.ts';

const BREAK = '\n\n';
const HINT_MARKER = '[kglite-batch-load-hint]';
const HINT = `${HINT_MARKER} If you load tool schemas on demand, load all tools of this server in one go before you first use one of them.`;

/**
 * Which mode a server runs in, and whether each of its conditional tools is there, by name in byte order: the loader, the
 * tool that tells the graph's schema, and every tool that a gate asks for. Nobody can add to it or replace it.
 */
export function modeBanner(input: {
  /** How the upstream is asked for its graph; without it the mode is `bare`. */
  graph: GraphMapping | null;
  /** Names shown. */
  tools: ReadonlySet<string>;
  /** The upstream's name for each shown tool of its own. */
  upstreamNames: ReadonlyMap<string, string>;
  /** Names of the upstream's own tools, hidden ones too. */
  served: ReadonlySet<string>;
  skills: readonly RidingSkill[];
  /** Name of the loader where it is offered, else null. */
  loader: string | null;
}): string {
  const { graph, tools, skills, loader } = input;
  const names = new Set<string>(graph ? [graphToolShown(graph, input)] : []);
  for (const clause of skills.flatMap((skill) => skill.gate ?? [])) {
    if (clause.predicate === 'tool_registered') names.add(clause.tool);
  }
  const states = new Map<string, string>();
  if (!graph) states.set('graph', 'not part of this mode');
  for (const name of names) states.set(name, tools.has(name) ? 'registered' : 'not registered');
  states.set(loader ?? 'skills', loader === null ? 'not registered' : 'registered');
  const sorted = [...states].sort(([a], [b]) => compareBytes(a, b));
  const mode = graph ? 'graph' : 'bare';
  return [`[kglite-mode] ${mode}`, ...sorted.map(([name, state]) => `- ${name}: ${state}`)].join('\n');
}

/** One that is hidden, or not there at all, is still the tool that the mode asks for. */
function graphToolShown(
  mapping: GraphMapping,
  { served, upstreamNames }: { served: ReadonlySet<string>; upstreamNames: ReadonlyMap<string, string> },
): string {
  const own = graphTool(mapping, served) ?? mapping.tools[0] ?? '';
  const [shown = own] = [...upstreamNames].find(([, upstream]) => upstream === own) ?? [];
  return shown;
}

/**
 * `instructions` of a server, in a fixed order; blank parts are left out, but never the banner. A text that contains the
 * batch-load hint's marker stands for the hint. Composing twice changes nothing: what a part already begins or ends with
 * is not said again.
 */
export function composeInstructions(input: {
  /** One sentence that stands on its own, before everything else. */
  pointer?: string | undefined;
  banner: string;
  /** The upstream's own instructions. */
  upstream?: string | undefined;
  /** The manifest's. */
  operator?: string | null | undefined;
  /** The block that names the items; last. */
  listing?: string | undefined;
}): string {
  const { pointer = '', banner, listing = '' } = input;
  const around = { before: [pointer, banner], after: listing };
  const upstream = bare(input.upstream ?? '', around);
  const operator = bare(input.operator ?? '', around);
  const hinted = upstream.includes(HINT_MARKER) || operator.includes(HINT_MARKER);
  const parts = [pointer, banner, hinted ? '' : HINT, upstream, operator, listing];
  return parts.filter((part) => part.trim() !== '').join(BREAK);
}

/** A text without the parts that stand around it anyway. */
function bare(text: string, { before, after }: { before: readonly string[]; after: string }): string {
  let rest = text.trim();
  for (const part of before) {
    if (part !== '' && `${rest}${BREAK}`.startsWith(part + BREAK))
      rest = rest.slice(part.length + BREAK.length);
  }
  if (after !== '' && `${BREAK}${rest}`.endsWith(BREAK + after))
    rest = rest.slice(0, -after.length).trimEnd();
  return rest;
}

/** No argument given: explicit nulls count as absent, empty lists and `false` do not. */
export function isBareCall(args: Readonly<Record<string, unknown>> | undefined): boolean {
  return Object.values(args ?? {}).every((value) => value === null || value === undefined);
}

/**
 * The answer of a bare overview call, errors too, with banner and prefix before its first text. Nothing is ever written
 * behind a text that a program may parse, and `structuredContent` stays as it is.
 */
export function prefixOverview<Answer extends ToolAnswer>(
  answer: Answer,
  { banner, prefix }: { banner: string; prefix: string | null },
): Answer {
  const words = (prefix ?? '').replace(/[\r\n]+$/, '');
  const head = words === '' ? banner : banner + BREAK + words;
  // Whoever sends something else hears of it from the client.
  if (!Array.isArray(answer.content ?? [])) return answer;
  const content = [...(answer.content ?? [])];
  const at = content.findIndex((part) => part?.type === 'text');
  const first = content[at];
  if (first === undefined) content.unshift({ type: 'text', text: head });
  else content[at] = { ...first, text: `${head}${BREAK}${typeof first.text === 'string' ? first.text : ''}` };
  return { ...answer, content };
}
