/** Something a person should know about skills that ride. A diagnostic never stops a server. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'info' | 'debug';
  readonly code: DiagnosticCode;
  /** One sentence: what happened, to what, what to do. */
  readonly message: string;
  /** File, or `registry:NAME`. */
  readonly path?: string;
  readonly skill?: string;
  readonly tool?: string;
}

type DiagnosticCode =
  /** The file is left out: unreadable, not UTF-8, no or invalid front matter, a key of the wrong type. */
  | 'dropped'
  /** `references_tools` was one string and is taken as a list of one. */
  | 'taken-as-list'
  /** The gate cannot be read, so the skill stays inactive. */
  | 'unreadable-gate'
  /** Body over the soft target of 4,096 bytes. */
  | 'long-body'
  /** Body over 16,384 bytes: cut where it is injected. */
  | 'truncated-body'
  /** A second file of one layer with a name that is taken. */
  | 'duplicate-name'
  /** `<stem>.skills` exists and is no directory. */
  | 'not-a-directory'
  /** A directory that was named holds no skill file. */
  | 'no-skills'
  /** None of the skill's tools is there. */
  | 'rides-nothing'
  /** The upstream's own text already carries this skill. */
  | 'already-there'
  /** The description is longer than what this client shows. */
  | 'over-cap'
  /** The gate is not satisfied. */
  | 'inactive'
  /** The graph could not be asked. */
  | 'graph-failed'
  /** The manifest changes a tool that the upstream does not have, or that another change gave its name to. */
  | 'unmatched-override';

/** What must be put right before a server starts, or before its manifest is accepted. The message is one sentence. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
