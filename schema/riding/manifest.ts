import type { Delivery } from './delivery.ts';
import type { GraphMapping } from './graph.ts';
import type { ToolOverride } from './overrides.ts';

export type Host = 'device' | 'cloud';

/** What `skills:` asks for. Null: skills are off, and nothing is read at all. */
export interface SkillsChoice {
  /** Bundled and framework layers. */
  readonly defaults: boolean;
  /** As written; `resolveSkillsPath` makes them absolute. The first wins over the others. */
  readonly declared: readonly {
    readonly raw: string /** `skills` or `skills[1]`. */;
    readonly key: string;
  }[];
}

export type Upstream =
  | {
      readonly type: 'command';
      readonly command: string;
      readonly args: readonly string[];
      /** Values as written: `${VAR}` is not yet replaced. */
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
    }
  | { readonly type: 'url'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export interface Manifest {
  readonly name: string | null;
  /** Null when the manifest names none: a start-up error on a device, the account's own setting in the cloud. */
  readonly upstream: Upstream | null;
  readonly instructions: string | null;
  readonly overviewPrefix: string | null;
  /** The tool whose bare calls carry banner and prefix. */
  readonly overviewTool: string;
  readonly skills: SkillsChoice | null;
  readonly delivery: Delivery;
  readonly tools: readonly ToolOverride[];
  readonly extensions: Readonly<Record<string, unknown>>;
  /** `extensions.tools_allow`: the only tools that are shown; null for all. */
  readonly toolsAllow: readonly string[] | null;
  readonly graph: GraphMapping | null;
}

/** Reads a manifest (YAML, hence JSON too). `source` names it in errors. @throws StartError */
export declare function parseManifest(text: string, options: { source: string; host: Host }): Manifest;

/** `skills:` by itself. @throws StartError */
export declare function readSkillsChoice(
  value: unknown,
  options: { source: string; host: Host },
): SkillsChoice | null;
