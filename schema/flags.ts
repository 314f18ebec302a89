import type { ClientId } from './clients.ts';
import type { Entry, FrontMatter, Note } from './frontmatter.ts';
import { type Flag, type Kind, LIMITS } from './item.ts';
import { isItemName } from './name.ts';

/** Clients that drop a skill whose name or description they cannot see. */
const NEED_NAME: readonly ClientId[] = ['opencode', 'gemini-cli', 'qwen-code'];
const NEED_DESCRIPTION: readonly ClientId[] = ['codex', 'copilot-cli', ...NEED_NAME];
const STRICT_YAML: readonly ClientId[] = ['copilot-cli', 'cline-cli', 'cline'];

/** Who does not read a skill as meant. Every client gets the skill's bytes as they are. */
const SKILL_CLIENTS: Partial<Record<Flag['code'], readonly ClientId[]>> = {
  'no-front-matter': NEED_DESCRIPTION,
  'comment-before-front-matter': NEED_DESCRIPTION,
  'unreadable-front-matter': NEED_DESCRIPTION,
  'byte-order-mark': ['codex', 'gemini-cli', 'claude-code'],
  'unquoted-colon': STRICT_YAML,
  'unquoted-value': STRICT_YAML,
  'name-missing': NEED_NAME,
  'name-invalid': ['claude-code', 'cline', 'roo', 'crush'],
  'name-reserved': ['claude-apps'],
  'description-missing': NEED_DESCRIPTION,
  'description-long': ['copilot-cli'],
  'description-markup': ['claude-apps'],
  'many-files': ['claude-apps'],
};

/** Only Claude Code gets a persona's bytes; the others get a generated file, which has none of these faults. */
const PERSONA_CLIENTS: Partial<Record<Flag['code'], readonly ClientId[]>> = {
  'no-front-matter': ['claude-code'],
  'comment-before-front-matter': ['claude-code'],
  'unreadable-front-matter': ['claude-code'],
  'byte-order-mark': ['claude-code'],
  'name-missing': ['claude-code'],
  'name-invalid': ['claude-code'],
  'description-missing': ['claude-code'],
};

const MANY_FILES = 200;
const COMPATIBILITY = 500;

/** What some client will not read as meant in an item that is kept as it is (the clients' ids are those of `clients.ts`). */
export function flagItem(item: {
  kind: Kind;
  name: string;
  text: string;
  front: FrontMatter;
  /** What `resolveName` forgave. */
  nameNotes: readonly Note[];
  fileCount: number;
}): Flag[] {
  const { kind, front } = item;
  const description = front.entries.get('description');
  const notes: Note[] = [...front.notes];
  // Without front matter there is neither name nor description, and one flag says so.
  if (front.reading !== 'none' && front.reading !== 'unreadable') {
    const nameLine = front.entries.get('name')?.line;
    notes.push(
      ...item.nameNotes.map((note) => (nameLine === undefined ? note : { ...note, line: nameLine })),
    );
    notes.push(...descriptionNotes(kind, description));
  }
  if (kind === 'skill') notes.push(...skillNotes(item));
  const table = kind === 'skill' ? SKILL_CLIENTS : PERSONA_CLIENTS;
  const flags: Flag[] = notes.map((note) => ({ ...note, clients: [...(table[note.code] ?? [])] }));
  flags.push(...keyFlags(kind, front));
  const reason = unrepresentable(item);
  if (reason !== null) {
    flags.push({
      code: 'not-in-skills-extension',
      message: `The ${kind} is left out of the MCP Skills extension: ${reason}.`,
      clients: [],
    });
  }
  return flags;
}

function descriptionNotes(kind: Kind, entry: Entry | undefined): Note[] {
  const text = entry?.text?.trim() ?? '';
  const line = entry === undefined ? {} : { line: entry.line };
  if (text === '') {
    return [{ code: 'description-missing', ...line, message: 'The front matter has no description.' }];
  }
  const notes: Note[] = [];
  if (text.length > LIMITS.description) {
    const message = `The description has ${text.length} characters; ${LIMITS.description} is the most that every client reads.`;
    notes.push({ code: 'description-long', ...line, message });
  }
  if (kind === 'skill' && /[<>]/.test(text)) {
    notes.push({ code: 'description-markup', ...line, message: 'The description has a < or a >.' });
  }
  return notes;
}

function skillNotes({ name, fileCount }: { name: string; fileCount: number }): Note[] {
  const notes: Note[] = [];
  if (/claude|anthropic/.test(name)) {
    notes.push({
      code: 'name-reserved',
      message: 'The name holds "claude" or "anthropic", which claude.ai keeps to itself.',
    });
  }
  if (fileCount > MANY_FILES) {
    notes.push({
      code: 'many-files',
      message: `The skill has ${fileCount} files; claude.ai takes ${MANY_FILES} at most.`,
    });
  }
  return notes;
}

function keyFlags(kind: Kind, { data, entries }: FrontMatter): Flag[] {
  const flags: Flag[] = [];
  const flag = (key: string, message: string, client: ClientId): void => {
    const line = entries.get(key)?.line;
    flags.push({
      code: 'key-breaks-client',
      ...(line === undefined ? {} : { line }),
      message,
      clients: [client],
    });
  };
  if (kind === 'persona') {
    if (Array.isArray(data?.hooks)) {
      flag('hooks', 'The key `hooks` is a list; Claude Code then drops the persona.', 'claude-code');
    }
    return flags;
  }
  if (Array.isArray(data?.['argument-hint'])) {
    flag(
      'argument-hint',
      '`argument-hint` is a list; Copilot CLI then drops the skill: quote it.',
      'copilot-cli',
    );
  }
  for (const key of ['model', 'context', 'agent']) {
    if (entries.has(key)) flag(key, `VS Code does not load a skill with the key \`${key}\`.`, 'vscode');
  }
  return flags;
}

/** Why SEP-2640 and the agentskills.io rules behind it have no entry for the item; null when they have one. */
function unrepresentable({
  name,
  text,
  front,
}: {
  name: string;
  text: string;
  front: FrontMatter;
}): string | null {
  const { reading, data, source, entries } = front;
  const description = data?.description;
  const compatibility = data?.compatibility;
  const metadata = data?.metadata;
  if (reading === 'none') return 'it has no front matter';
  if (reading !== 'strict' || !data || !source) return 'its front matter is not valid YAML';
  if (!/^\uFEFF?---\r?\n/.test(text) || /\r(?!\n)/.test(text.slice(0, source.end))) {
    return 'the file does not begin with a plain line of three hyphens';
  }
  if (data.name !== name || !isItemName(name)) return 'its front matter has no valid name of its own';
  if (!isText(description, LIMITS.description)) {
    return `its description is not a text of 1 to ${LIMITS.description} characters`;
  }
  if (compatibility !== undefined && !isText(compatibility, COMPATIBILITY)) {
    return `\`compatibility\` is not a text of 1 to ${COMPATIBILITY} characters`;
  }
  if (entries.has('metadata') && !isTextMap(metadata)) return '`metadata` does not map texts to texts';
  return null;
}

/** Counts code points, as the extension's own reader does. */
function isText(value: unknown, most: number): boolean {
  return typeof value === 'string' && value !== '' && [...value].length <= most;
}

function isTextMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((item) => typeof item === 'string');
}
