import type { RidingTool } from './compose.ts';
import type { Diagnostic } from './diagnostic.ts';

/** What a manifest changes about one tool of the upstream. */
export interface ToolOverride {
  /** The upstream's name for it. */
  readonly tool: string;
  readonly rename: string | null;
  readonly description: string | null;
  readonly hidden: boolean;
}

/** The upstream's tools as shown, and the upstream's name for each name shown. Nothing given is changed. */
export declare function applyOverrides<Tool extends RidingTool>(
  tools: readonly Tool[],
  manifest: { readonly tools: readonly ToolOverride[]; readonly toolsAllow: readonly string[] | null },
): { tools: Tool[]; upstreamNames: ReadonlyMap<string, string>; diagnostics: Diagnostic[] };
