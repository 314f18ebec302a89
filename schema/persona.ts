/** Ids of the clients that read persona files; each has a format of its own. */
export type PersonaFormat = 'claude-code' | 'codex' | 'cursor' | 'opencode' | 'gemini-cli' | 'copilot-cli';

export interface Persona {
  name: string;
  description: string;
  /** Text after the front matter. */
  body: string;
  /** The front matter as read; null when there is one that cannot be read. */
  data: Readonly<Record<string, unknown>> | null;
  /** PERSONA.md as stored. */
  raw: Uint8Array;
}

export type PersonaFile =
  | { needsAgreement: false; fileName: string; bytes: Uint8Array }
  /** Nothing is written until the person agrees; `reason` is one sentence for them. */
  | { needsAgreement: true; reason: string };

/**
 * A persona as the file that a client reads. Claude Code gets PERSONA.md's bytes unchanged; the others get a generated
 * file, byte for byte the same for the same persona. No generated format carries a restriction (on tools or permissions),
 * so a persona with one needs `agreed`, the person's word that it may be written without.
 */
export function personaFile(format: PersonaFormat, persona: Persona, agreed = false): PersonaFile {
  if (format === 'claude-code') {
    return { needsAgreement: false, fileName: `${persona.name}.md`, bytes: persona.raw };
  }
  const reason = agreed ? null : lostRestriction(format, persona);
  if (reason !== null) return { needsAgreement: true, reason };
  const text = format === 'codex' ? toml(persona) : markdown(format, persona);
  const extension = format === 'codex' ? 'toml' : 'md';
  return {
    needsAgreement: false,
    fileName: `${persona.name}.${extension}`,
    bytes: new TextEncoder().encode(text),
  };
}

/** The front matter keys by which a persona restricts what it may do, in their order there. */
export function restrictions(data: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(data)
    .filter(([name, value]) => restricts(name, value))
    .map(([name]) => name);
}

function restricts(name: string, value: unknown): boolean {
  if (value === null || value === undefined) return false;
  switch (name) {
    case 'tools':
    case 'allowed-tools':
    case 'allowedTools':
      return !(value === '*' || (Array.isArray(value) && value.includes('*')));
    case 'disallowed-tools':
    case 'disallowedTools':
      return value !== '' && !(Array.isArray(value) && value.length === 0);
    case 'permissionMode':
      return value === 'plan' || value === 'dontAsk';
    case 'permission':
      return true;
    case 'readonly':
      return value !== false;
    default:
      return false;
  }
}

function lostRestriction(format: PersonaFormat, { name, data }: Persona): string | null {
  if (data === null) {
    return `The front matter of the persona ${name} cannot be read, so a restriction in it would be lost in ${format}: repair it, or agree to write the persona without.`;
  }
  const keys = restrictions(data);
  if (keys.length === 0) return null;
  return `The persona ${name} restricts ${keys.join(', ')}, which its file for ${format} cannot carry: agree to write it there without the restriction, or leave it out.`;
}

function markdown(format: PersonaFormat, persona: Persona): string {
  const lines = [`name: ${quote(persona.name)}`, `description: ${quote(describe(persona))}`];
  if (format === 'opencode') lines.push('mode: subagent');
  return `---\n${lines.join('\n')}\n---\n\n${plainBody(persona)}`;
}

function toml(persona: Persona): string {
  const lines = [`name = ${quote(persona.name)}`, `description = ${quote(describe(persona))}`];
  return `${lines.join('\n')}\ndeveloper_instructions = """\n${escapeBlock(plainBody(persona))}"""\n`;
}

/** Clients drop a persona without a description; its name is the least that is true. */
function describe({ name, description }: Persona): string {
  return description.trim() || name;
}

function plainBody({ body }: Persona): string {
  const text = body
    .replace(/^\uFEFF/, '')
    .replace(/\r\n?/g, '\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd();
  return `${text.toWellFormed()}\n`;
}

/** A string that is both a double-quoted YAML scalar (1.1 and 1.2) and a TOML basic string. */
export function quote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(/[\p{Cc}\u2028\u2029\uFEFF]/gu, escapeCharacter);
}

/** Text for a TOML multi-line basic string: line breaks stay, so that a person can read the file. */
function escapeBlock(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replace(/"{3,}/g, (run) => '\\"'.repeat(run.length))
    .replace(/(?![\t\n])\p{Cc}/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
