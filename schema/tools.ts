import { z } from 'zod';
import { type Flag, Kind, LIMITS, type State } from './item.ts';
import { composeListing, type ListingInput, POINTER, TOOL_LISTING_CHARS } from './listing.ts';

/** The two tools of `/mcp`, as data. Names and input schemas never change at run time; hosted clients freeze them. */

const name = z.string().min(1);

/** Arguments of `skills`. */
export const SkillsInput = z
  .strictObject({
    action: z
      .enum(['list', 'get', 'search', 'guidelines'])
      .describe(
        '"list" names every item with its description and state; "get" reads one; "search" finds items by text; "guidelines" gives the user\'s standing instructions.',
      ),
    name: name.optional().describe('get: name of the item.'),
    kind: Kind.optional().describe(
      'list and search: only this kind. get: needed when a skill and a persona share the name.',
    ),
    path: z
      .string()
      .min(1)
      .optional()
      .describe(
        'get: another file of the item, such as "references/api.md". Default: SKILL.md or PERSONA.md.',
      ),
    start: z
      .int()
      .nonnegative()
      .optional()
      .describe('list and get: where to go on, the next_start of the answer before.'),
    query: z.string().min(1).optional().describe('search: words to look for.'),
  })
  .refine((input) => input.action !== 'get' || input.name !== undefined, {
    path: ['name'],
    error: 'action "get" needs the name of the item',
  })
  .refine((input) => input.action !== 'search' || input.query !== undefined, {
    path: ['query'],
    error: 'action "search" needs a query',
  });
export type SkillsInput = z.infer<typeof SkillsInput>;

/** Arguments of `skill_edit`. A file is text, or base64 where it is not UTF-8; null removes it. */
export const SkillEditInput = z
  .strictObject({
    action: z.enum(['create', 'edit']),
    kind: Kind.optional().describe(
      'create: "skill" unless given. edit: needed when a skill and a persona share the name.',
    ),
    name: name
      .optional()
      .describe(
        'Name of the item: a-z, 0-9 and single hyphens. May be left out only when creating from files.',
      ),
    description: z.string().optional().describe('When to use the item: what its readers choose it by.'),
    instructions: z.string().optional().describe('The text after the front matter, whole.'),
    files: z
      .record(
        z.string(),
        z.union([
          z.strictObject({ text: z.string(), executable: z.boolean().optional() }),
          z.strictObject({ base64: z.base64(), executable: z.boolean().optional() }),
          z.null(),
        ]),
      )
      .optional()
      .describe('Files by path: added or replaced; null removes one. Files not named stay.'),
    state: z.enum(['active', 'disabled']).optional().describe('edit: "disabled" hides the item everywhere.'),
    expected_revision: z
      .int()
      .positive()
      .optional()
      .describe('edit: the revision that you read; refused when it is no longer the current one.'),
  })
  .refine((input) => input.action !== 'edit' || input.name !== undefined, {
    path: ['name'],
    error: 'action "edit" needs the name of the item',
  })
  .refine((input) => input.action !== 'create' || input.name !== undefined || input.files !== undefined, {
    path: ['name'],
    error: 'action "create" needs a name, or files whose front matter has one',
  });
export type SkillEditInput = z.infer<typeof SkillEditInput>;

const SKILLS_HEAD =
  'The user\'s own skills (how to do something) and personas (who to be). Load one with action="get" when it fits the task, before starting on it. action="list" names all, "search" finds them by text, "guidelines" gives the user\'s standing instructions. A long file comes in pages: go on with start=next_start.';

export const TOOLS = {
  skills: {
    title: 'Skills and personas',
    /** Without a listing; {@link skillsDescription} gives the one with it. */
    description: SKILLS_HEAD,
    inputSchema: SkillsInput,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    /** Claude Code defers MCP tools to their names alone unless told otherwise. */
    _meta: { 'anthropic/alwaysLoad': true },
  },
  skill_edit: {
    title: 'Create or edit a skill or persona',
    description:
      "Creates or edits one of the user's skills or personas, for all their devices and AI clients at once: only on their wish. What it replaces stays in the history. It cannot remove an item. create: from name, description and instructions, or from files. edit: gives a new description or new instructions and keeps the rest of the front matter as written, adds, replaces or removes files, or sets the state. Read the item first and pass its revision as expected_revision.",
    inputSchema: SkillEditInput,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  },
} as const;

/**
 * The description of `skills` with the listing inside, at most {@link TOOL_LISTING_CHARS} characters. The listing's pointer
 * says what the head says, so it stands in for it; `cap` counts the whole description.
 */
export function skillsDescription(input: Omit<ListingInput, 'channel'>): string {
  const cap = Math.min(input.cap ?? TOOL_LISTING_CHARS, TOOL_LISTING_CHARS);
  const listing = composeListing({ ...input, cap, channel: 'tool-description' });
  if (listing.startsWith(POINTER)) return listing;
  const room = cap - SKILLS_HEAD.length - 2;
  const guidelines = composeListing({ ...input, cap: Math.max(room, 0), channel: 'tool-description' });
  return guidelines === '' ? SKILLS_HEAD : `${SKILLS_HEAD}\n\n${guidelines}`;
}

/** Characters of one `list` answer. Hosts refuse results of about a megabyte; most lists are far smaller. */
export const LIST_CHARS = 400_000;

/**
 * One page of a text from code unit `start`, at most {@link LIMITS.page} long, never ending inside a surrogate pair.
 * `next_start` is absent on the last page.
 */
export function renderPage({ text, start = 0 }: { text: string; start?: number | undefined }): {
  text: string;
  next_start?: number;
} {
  const from = splitsPair(text, start) ? start - 1 : start;
  const end = from + LIMITS.page;
  if (end >= text.length) return { text: text.slice(from) };
  const next_start = splitsPair(text, end) ? end - 1 : end;
  return { text: text.slice(from, next_start), next_start };
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}

/** Said first in an answer when it does not come from the registry itself, or there is anything else to know about it. */
type Notice = { notice?: string | undefined };

export interface RenderedItem {
  kind: Kind;
  name: string;
  description: string;
  state: State;
  revision: number;
  flags: readonly Flag[];
}

/** Answer of `list`: items as given from index `start` on, as JSON text. `next_start` is absent on the last page. */
export function renderList(
  items: readonly RenderedItem[],
  { start = 0, notice }: Notice & { start?: number | undefined } = {},
): string {
  const page: ReturnType<typeof summary>[] = [];
  let chars = 0;
  for (const item of items.slice(start)) {
    const line = summary(item);
    chars += JSON.stringify(line).length + 1;
    if (chars > LIST_CHARS && page.length > 0) break;
    page.push(line);
  }
  const next = start + page.length;
  return json({
    notice,
    total: items.length,
    items: page,
    next_start: next < items.length ? next : undefined,
  });
}

/** Answer of `search`, best first, as JSON text. */
export function renderHits(
  hits: readonly (RenderedItem & { path: string; passage: string })[],
  { notice }: Notice = {},
): string {
  return json({
    notice,
    hits: hits.map((hit) => ({ ...summary(hit), path: hit.path, passage: hit.passage })),
  });
}

/**
 * Answer of `get`, as JSON text: one page of a file of the item. A file that is not UTF-8 comes as base64, paged likewise.
 * The first page names the item's files.
 */
export function renderFile(
  item: Omit<RenderedItem, 'description'> & { files: readonly { path: string }[] },
  file: { path: string } & ({ text: string } | { base64: string }),
  { start = 0, notice }: Notice & { start?: number | undefined } = {},
): string {
  const binary = 'base64' in file;
  const page = renderPage({ text: binary ? file.base64 : file.text, start });
  return json({
    notice,
    kind: item.kind,
    name: item.name,
    state: item.state,
    revision: item.revision,
    flags: flagged(item.flags),
    files: start === 0 ? item.files.map(({ path }) => path) : undefined,
    path: file.path,
    [binary ? 'base64' : 'text']: page.text,
    next_start: page.next_start,
  });
}

/** Answer of `guidelines`, as JSON text. */
export function renderGuidelines(text: string, { notice }: Notice = {}): string {
  return json({ notice, guidelines: text });
}

/** Answer of `skill_edit`, as JSON text: the item as it now is, and the revision that it replaced. */
export function renderWritten(
  item: RenderedItem & { files: readonly { path: string }[] },
  { replaced, notice }: Notice & { replaced?: number | undefined } = {},
): string {
  return json({ notice, ...summary(item), replaced, files: item.files.map(({ path }) => path) });
}

function summary(item: RenderedItem) {
  return {
    kind: item.kind,
    name: item.name,
    description: item.description,
    state: item.state,
    revision: item.revision,
    flags: flagged(item.flags),
  };
}

function flagged(flags: readonly Flag[]): readonly Flag[] | undefined {
  return flags.length === 0 ? undefined : flags;
}

/** Keys in the order given; undefined ones are absent. */
function json(value: unknown): string {
  return JSON.stringify(value);
}
