import type { Delivery } from './delivery.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { RidingSkill } from './skill.ts';

export interface RidingTool {
  readonly name: string;
  readonly description?: string | undefined;
}

/** What rides on one tool. */
export interface Ride {
  readonly tool: string;
  /** In the order in which they stand. */
  readonly skills: readonly { readonly name: string; readonly chars: number }[];
  readonly form: 'eager' | 'lazy';
  /** UTF-16 units of the base text, and of the composed description. */
  readonly baseLength: number;
  readonly length: number;
}

export interface ComposeInput<Tool extends RidingTool> {
  /** The tools of this request, after renaming and hiding. */
  readonly tools: readonly Tool[];
  readonly active: readonly RidingSkill[];
  readonly delivery: Delivery;
  /** See `descriptionCap`. */
  readonly cap: number | null;
  /** Name, in this request's list, of the tool that loads a method; null when there is none. */
  readonly loader: string | null;
  /** The client's title, for diagnostics. */
  readonly client?: string;
}

/** Tools with the skills' texts behind their descriptions. Nothing given is changed; a tool without a ride is the one given. */
export declare function composeTools<Tool extends RidingTool>(
  input: ComposeInput<Tool>,
): { tools: Tool[]; rides: Ride[]; diagnostics: Diagnostic[] };
