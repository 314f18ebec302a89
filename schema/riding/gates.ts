import type { Diagnostic } from './diagnostic.ts';
import { type Clause, describeClause, isGraphClause } from './gate.ts';
import type { GraphSchema } from './graph.ts';
import type { RidingSkill } from './skill.ts';

/** What gates are judged by, for one request. */
export interface Facts {
  /** Names in this request's tool list, after renaming and hiding. */
  readonly tools: ReadonlySet<string>;
  /** The manifest's `extensions`. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** `none`: there is no graph just now. `failed`: it could not be asked. Null: nobody can answer for a graph. */
  readonly graph: GraphSchema | 'none' | 'failed' | null;
}

export interface Inactive {
  readonly skill: RidingSkill;
  readonly failed: readonly Clause[];
}

/**
 * Which skills are active, in the order given. A skill is active when every clause of its gate is satisfied; what cannot
 * be told is not satisfied. Called for every request with that request's facts, so that nothing outlives them; the one
 * costly fact, the graph, is asked for once and before.
 */
export function evaluate(
  skills: readonly RidingSkill[],
  facts: Facts,
): { active: RidingSkill[]; inactive: Inactive[]; diagnostics: Diagnostic[] } {
  const active: RidingSkill[] = [];
  const inactive: Inactive[] = [];
  const diagnostics: Diagnostic[] = [];
  let graphMissed = false;
  for (const skill of skills) {
    const failed = (skill.gate ?? []).filter((clause) => !holds(clause, facts));
    if (failed.length === 0) {
      active.push(skill);
      continue;
    }
    inactive.push({ skill, failed });
    graphMissed ||= facts.graph === 'failed' && failed.some(isGraphClause);
    diagnostics.push({
      severity: 'debug',
      code: 'inactive',
      path: skill.source,
      skill: skill.name,
      message: `The skill \`${skill.name}\` is inactive: ${failed.map(describeClause).join('; ')}.`,
    });
  }
  if (graphMissed) {
    diagnostics.unshift({
      severity: 'warning',
      code: 'graph-failed',
      message:
        'The graph could not be asked, so skills that depend on it are inactive until it answers again.',
    });
  }
  return { active, inactive, diagnostics };
}

function holds(clause: Clause, { tools, extensions, graph }: Facts): boolean {
  const schema = typeof graph === 'string' ? null : graph;
  switch (clause.predicate) {
    case 'graph_has_node_type':
      return clause.labels.some((label) => schema?.has(label));
    case 'graph_has_property':
      return schema?.get(clause.nodeType)?.has(clause.property) ?? false;
    case 'tool_registered':
      return tools.has(clause.tool);
    case 'extension_enabled':
      return Object.hasOwn(extensions, clause.extension) && isOn(extensions[clause.extension]);
    case 'unreadable':
      return false;
  }
}

/** Names of the extensions that are on, which `extension_enabled` asks for. */
export function enabledExtensions({ extensions }: Facts): string[] {
  return Object.keys(extensions).filter((name) => isOn(extensions[name]));
}

/** `{}`, `0` and an empty text count as on. */
function isOn(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false;
}
