import type { Diagnostic } from './diagnostic.ts';
import type { GraphSchema } from './graph.ts';
import type { RidingSkill } from './skill.ts';

/** One predicate of `applies_when`. `unreadable` stands for anything not understood, and is never satisfied. */
export type Clause =
  | { readonly predicate: 'graph_has_node_type'; readonly labels: readonly string[] }
  | { readonly predicate: 'graph_has_property'; readonly nodeType: string; readonly property: string }
  | { readonly predicate: 'tool_registered'; readonly tool: string }
  | { readonly predicate: 'extension_enabled'; readonly extension: string }
  | { readonly predicate: 'unreadable'; readonly key: string };

/** Clauses combined with AND; none at all is satisfied. */
export type Gate = readonly Clause[];

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

/** Whether any skill's gate needs the graph: only then is it worth asking. */
export declare function asksGraph(skills: readonly RidingSkill[]): boolean;

/** Which skills are active, in the order given. */
export declare function evaluate(
  skills: readonly RidingSkill[],
  facts: Facts,
): { active: RidingSkill[]; inactive: Inactive[]; diagnostics: Diagnostic[] };

/** A clause as a person reads it, such as `tool_registered: grep`. */
export declare function describeClause(clause: Clause): string;
