import { RegistryError } from '../errors.ts';
import { decodeText, type FrontMatter, readFrontMatter } from '../frontmatter.ts';
import type { Diagnostic } from './diagnostic.ts';
import { type Gate, readGate } from './gate.ts';
import { BODY_BYTES, capBody, SOFT_BODY_BYTES, trimWhiteSpace } from './text.ts';

/** A skill that rides on tool descriptions, read from one markdown file. */
export interface RidingSkill {
  /** Its identity; also the tool that it rides on by equal name. */
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

type Report = (severity: Diagnostic['severity'], code: Diagnostic['code'], message: string) => void;

/**
 * Reads one file: front matter between `---` on the first line and the next `---` at the start of a line, then the body.
 * Only `name` (required), `description`, `references_tools`, `auto_inject_hint` and `applies_when` are read; every other
 * key is ignored whatever its value. `skill` is null when the file is dropped, and a diagnostic then says why.
 */
export function readRidingSkill(
  source: string,
  content: Uint8Array | string,
  { matching = 'exact' }: { matching?: RidingSkill['matching'] } = {},
): { skill: RidingSkill | null; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  let name: string | undefined;
  const report: Report = (severity, code, message) =>
    diagnostics.push({ severity, code, path: source, ...(name !== undefined && { skill: name }), message });
  try {
    const text = readText(content);
    const front = readFences(text);
    name = readName(front);
    const body = text.slice(front.bodyStart);
    const skill = {
      name,
      description: readDescription(front),
      body,
      method: readMethod(body, report),
      referencesTools: readReferences(front, report),
      autoInject: readAutoInject(front),
      gate: readApplies(front, report),
      matching,
      source,
    };
    return { skill, diagnostics };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    const dropped: Diagnostic = {
      severity: 'error',
      code: 'dropped',
      path: source,
      message: `${source} is left out: ${error.message}`,
    };
    return { skill: null, diagnostics: [dropped] };
  }
}

function readText(content: Uint8Array | string): string {
  const text = typeof content === 'string' ? content.toWellFormed() : decodeText(content);
  if (text === null || text.includes('\0')) refuse('It is not UTF-8 text; save it as UTF-8.');
  return text;
}

/** The shared reader forgives what would make one file two things to two readers; a riding file is dropped instead. */
function readFences(text: string): FrontMatter {
  if (!/^\uFEFF?---[ \t]*\r?\n/.test(text)) {
    refuse(
      'It has no front matter; begin its first line with three hyphens, and close the front matter with three more.',
    );
  }
  const front = readFrontMatter(text);
  const { source, reading, notes } = front;
  if (source === null) {
    refuse('Its front matter is never closed; put a line of three hyphens behind it.');
  }
  if (text.charAt(source.end - 1) !== '\n' || !/^---[ \t]*(?:\r?\n|$)/.test(text.slice(source.end))) {
    refuse('A line beside its closing fence ends in a lone carriage return; end lines with a line feed.');
  }
  if (reading !== 'strict') {
    const unquoted = notes.find((note) => note.code === 'unquoted-colon' || note.code === 'unquoted-value');
    refuse(
      unquoted?.message ??
        'Its front matter is not a valid YAML mapping; put values with a colon or other signs in double quotes.',
    );
  }
  return front;
}

function readName({ data, entries }: FrontMatter): string {
  if (isAbsent(data?.name)) refuse('Its front matter has no `name`; add one.');
  const name = entries.get('name')?.text?.toWellFormed();
  if (name === undefined) refuse('Its `name` is a list or a mapping; write one text.');
  if (trimWhiteSpace(name) === '') refuse('Its `name` is blank; write one.');
  // Either would end the marker that the name stands in.
  if (/[\r\n\u0085\u2028\u2029]|-->/.test(name))
    refuse('Its `name` holds a line break or `-->`; leave it out.');
  return name;
}

function readDescription({ data, entries }: FrontMatter): string {
  if (isAbsent(data?.description)) return '';
  const description = entries.get('description')?.text;
  if (description === undefined) refuse('Its `description` is a list or a mapping; write one text.');
  return description.toWellFormed();
}

function readReferences({ data, entries }: FrontMatter, report: Report): string[] {
  const value = data?.references_tools;
  if (isAbsent(value)) return [];
  const entry = entries.get('references_tools');
  if (entry?.text !== undefined) {
    report(
      'info',
      'taken-as-list',
      `\`references_tools\` is one text and is taken as a list of one; write [${entry.text}].`,
    );
    return [entry.text.toWellFormed()];
  }
  if (!Array.isArray(value)) refuse('Its `references_tools` is a mapping; write a list of tool names.');
  return value.flatMap((item: unknown, index) => {
    if (isAbsent(item)) return [];
    const text = entry?.items?.[index];
    if (text === undefined)
      refuse('An entry of its `references_tools` is a list or a mapping; write tool names.');
    return [text.toWellFormed()];
  });
}

function readAutoInject({ data }: FrontMatter): boolean {
  const value = data?.auto_inject_hint;
  if (isAbsent(value)) return true;
  if (typeof value !== 'boolean')
    refuse('Its `auto_inject_hint` is neither true nor false; write one of them, without quotes.');
  return value;
}

function readApplies({ data }: FrontMatter, report: Report): Gate | null {
  const { gate, problems } = readGate(data?.applies_when);
  for (const problem of problems) report('error', 'unreadable-gate', `The skill stays inactive: ${problem}.`);
  return gate;
}

function readMethod(body: string, report: Report): string {
  const { method, bytes } = capBody(trimWhiteSpace(body));
  if (bytes > BODY_BYTES) {
    report(
      'warning',
      'truncated-body',
      `The body has ${bytes} bytes and is cut at ${BODY_BYTES} where it is injected; split the skill.`,
    );
  } else if (bytes > SOFT_BODY_BYTES) {
    report(
      'info',
      'long-body',
      `The body has ${bytes} bytes; up to ${SOFT_BODY_BYTES} is a good length, since every tool list carries it.`,
    );
  }
  return method;
}

/** An explicit or empty null counts as an absent key. */
function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function refuse(reason: string): never {
  throw new RegistryError('invalid_front_matter', reason);
}
