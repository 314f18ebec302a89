import type { Diagnostic } from './diagnostic.ts';
import type { Gate } from './gates.ts';

/** A skill that rides on tool descriptions, read from one markdown file. */
export interface RidingSkill {
  readonly name: string;
  /** Routing text as parsed; may be empty. */
  readonly description: string;
  /** Everything after the closing fence's line, as written. */
  readonly body: string;
  /** The body as injected: trimmed, at most 16,384 bytes of UTF-8. */
  readonly method: string;
  readonly referencesTools: readonly string[];
  /** False: rides nowhere, but is still a prompt and can be loaded. */
  readonly autoInject: boolean;
  /** Null: always active. */
  readonly gate: Gate | null;
  /** `alike`: `_` and `-` are one when the name is compared with a tool's, for names that can hold no `_`. */
  readonly matching: 'exact' | 'alike';
  /** File, or `registry:NAME`. */
  readonly source: string;
}

/** Reads one file; `skill` is null when it is dropped, and a diagnostic then says why. */
export declare function readRidingSkill(
  source: string,
  content: Uint8Array | string,
  options?: { matching?: RidingSkill['matching'] },
): { skill: RidingSkill | null; diagnostics: Diagnostic[] };
