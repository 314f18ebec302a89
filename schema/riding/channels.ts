import type { ToolAnswer } from './graph.ts';
import type { RidingSkill } from './skill.ts';

/** Tools that are there only under conditions. */
export interface ToolGroup {
  readonly name: string;
  readonly state: 'registered' | 'not registered' | 'not part of this mode';
}

export type Mode = 'graph' | 'bare';

/** The conditional tools of a server, by name: the loader, the graph's tool, and every tool that a gate asks for. */
export declare function toolGroups(input: {
  tools: ReadonlySet<string>;
  skills: readonly RidingSkill[];
  /** Name of the loader where it is offered, else null. */
  loader: string | null;
  /** The tool that the graph mapping asks, null without a mapping. */
  graphTool: string | null;
}): ToolGroup[];

export declare function modeBanner(mode: Mode, groups: readonly ToolGroup[]): string;

/** `instructions` of a server, in a fixed order; blank parts are left out, but never the banner. */
export declare function composeInstructions(input: {
  /** One sentence that stands on its own, before everything else. */
  pointer?: string | undefined;
  banner: string;
  /** The upstream's own instructions. */
  upstream?: string | undefined;
  /** The manifest's. */
  operator?: string | null | undefined;
  /** The block that names the items; last. */
  listing?: string | undefined;
}): string;

/** No argument given: explicit nulls count as absent, empty lists and `false` do not. */
export declare function isBareCall(args: Readonly<Record<string, unknown>> | undefined): boolean;

/** The answer of a bare overview call with banner and prefix before its text. `structuredContent` stays. */
export declare function prefixOverview<Answer extends ToolAnswer>(
  answer: Answer,
  texts: { banner: string; prefix: string | null },
): Answer;
