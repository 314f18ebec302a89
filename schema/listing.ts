import type { ClientRow } from './clients.ts';
import { compareBytes } from './digest.ts';
import type { Kind } from './item.ts';

/** Characters of the block: 1,500 estimated tokens of 4 characters each. */
export const BLOCK_CHARS = 6000;
/** Characters of the listing inside a tool description. */
export const TOOL_LISTING_CHARS = 1000;
/** Characters of one description in the block. */
export const DESCRIPTION_CHARS = 250;
/** At most so many items are named, however short their names: no more need be read to compose a listing. */
export const NAMED_MAX = 400;

/** Stands on its own in whatever little of a text reaches a model. */
export const POINTER =
  'The user keeps skills and personas here: load one with skills(action="get", name=...) when its description fits the task.';
const OUTDATED = ' This list may be outdated: skills(action="list") is the current one.';
const GUIDELINES_CALL = 'skills(action="guidelines")';
const HEADINGS = { skill: 'Skills:', persona: 'Personas:' } as const satisfies Record<Kind, string>;
const UNDESCRIBED = 'Descriptions of the others: skills(action="list")';
/** Fewer characters of guidelines than this say nothing; the pointer alone stands for them. */
const GUIDELINES_MIN = 80;
const BREAK = '\n\n';

export interface ListedItem {
  kind: Kind;
  name: string;
  description: string;
}

export interface ListingInput {
  /** Active items, already fitted: all, or the first {@link NAMED_MAX} in the order of {@link compareItems}. */
  items: readonly ListedItem[];
  /** How many there are of each kind where `items` holds only the first. */
  totals?: Readonly<Record<Kind, number>>;
  guidelines?: string;
  /** Characters that the whole text may have. */
  cap?: number;
  channel: 'instructions' | 'tool-description';
}

/** Skills before personas, each by name in byte order. */
export function compareItems(
  a: Pick<ListedItem, 'kind' | 'name'>,
  b: Pick<ListedItem, 'kind' | 'name'>,
): number {
  return a.kind === b.kind ? compareBytes(a.name, b.name) : a.kind === 'skill' ? -1 : 1;
}

/**
 * The text that tells a client's model what the user keeps: a pointer sentence, the user's guidelines, and the block
 * that names the items. Never longer than `cap`; equal inputs give equal bytes. Without items only guidelines remain,
 * and without those it is empty. Where not even the pointer fits, it is empty too.
 *
 * Names come before descriptions: every item that can be named is, then descriptions fill the room that is left, in the
 * items' order, and what could not be named is counted.
 */
export function composeListing(input: ListingInput): string {
  const { cap = Number.POSITIVE_INFINITY, channel } = input;
  const guidelines = input.guidelines?.trim() ?? '';
  const items = input.items.toSorted(compareItems);
  const totals = input.totals ?? countKinds(items);
  if (totals.skill + totals.persona === 0) return fitGuidelines(guidelines, cap);

  if (POINTER.length > cap) return '';
  const whole = channel === 'instructions' ? POINTER : POINTER + OUTDATED;
  const pointer = whole.length <= cap ? whole : POINTER;
  const left = cap - pointer.length - BREAK.length;
  const uncounted = left - restLine(totals, false).length - BREAK.length;
  const spoken = fitGuidelines(guidelines, Math.min(Math.floor(cap / 2), uncounted));
  const room = left - (spoken === '' ? 0 : spoken.length + BREAK.length);
  const block = composeBlock(items, totals, Math.min(room, BLOCK_CHARS));
  return [pointer, spoken, block].filter((part) => part !== '').join(BREAK);
}

/** The characters of a listing for a client in a channel. What reaches no model is not cut: it is sent in case it does. */
export function listingCap(client: ClientRow | null, channel: ListingInput['channel']): number {
  if (channel === 'tool-description') {
    const tool = client?.tool ?? 'unknown';
    return tool === 'unknown' ? TOOL_LISTING_CHARS : Math.min(tool, TOOL_LISTING_CHARS);
  }
  const instructions = client?.instructions ?? 'unknown';
  return instructions === 'unknown' || instructions === 0 ? Number.POSITIVE_INFINITY : instructions;
}

/** Whether the `skills` description carries the listing: wherever `instructions` may reach the model less well. */
export function listsInTool(client: ClientRow | null): boolean {
  const instructions = client?.instructions ?? 'unknown';
  return instructions === 'unknown' || instructions < TOOL_LISTING_CHARS;
}

export interface FitInput {
  client: ClientRow | null;
  /** The session carries a device's proof. */
  hasDevice: boolean;
  /** The session is served to a WSL distribution, which does not see the device's folders. */
  wsl: boolean;
  /** Folders of the device's last report. */
  folders: readonly { kind: Kind; clients: readonly string[]; state: 'written' | 'failed' }[];
}

/** Kinds that the client already reads from folders on its device; any doubt leaves none out. */
export function kindsLeftOut({ client, hasDevice, wsl, folders }: FitInput): Set<Kind> {
  if (client === null || !client.written || !hasDevice || wsl) return new Set();
  const read = folders.filter((folder) => folder.clients.includes(client.id));
  const failed = new Set(read.filter((folder) => folder.state === 'failed').map((folder) => folder.kind));
  return new Set(read.map((folder) => folder.kind).filter((kind) => !failed.has(kind)));
}

/**
 * The items to list for a session. `exceptions` are ids that the device's report shows as held back or failed: they are
 * listed even where their kind is left out.
 */
export function fitItems<T extends { id: string; kind: Kind }>(
  input: FitInput & { exceptions: ReadonlySet<string>; items: readonly T[] },
): T[] {
  const out = kindsLeftOut(input);
  return input.items.filter((item) => !out.has(item.kind) || input.exceptions.has(item.id));
}

function composeBlock(items: readonly ListedItem[], totals: Record<Kind, number>, room: number): string {
  const complete = (count: number) => count === totals.skill + totals.persona;
  let { count, left } = nameable(items, room);
  if (!complete(count)) {
    const counted = restLine(totals, false);
    ({ count, left } = nameable(items, room - restLine(totals, true).length - 1));
    if (count === 0) return counted.length <= room ? counted : '';
  }
  const descriptions = items.slice(0, count).map((item) => fitDescription(item.description));
  const wanted = descriptions.reduce((sum, description) => sum + description.length, 0);
  const undescribed = complete(count) && wanted > left && UNDESCRIBED.length + 1 <= left;
  if (undescribed) left -= UNDESCRIBED.length + 1;

  const lines: string[] = [];
  const rest = { ...totals };
  let previous: Kind | undefined;
  for (const [index, { kind, name }] of items.slice(0, count).entries()) {
    if (kind !== previous) lines.push(HEADINGS[kind]);
    previous = kind;
    rest[kind] -= 1;
    const description = descriptions[index] ?? '';
    const fits = description.length <= left;
    if (fits) left -= description.length;
    lines.push(fits ? name + description : name);
  }
  if (undescribed) lines.push(UNDESCRIBED);
  if (!complete(count)) lines.push(restLine(rest, true));
  return lines.join('\n');
}

/** How many of the first items can be named in `room`, and the characters left then. */
function nameable(items: readonly ListedItem[], room: number): { count: number; left: number } {
  let left = room + 1;
  let kind: Kind | undefined;
  let count = 0;
  for (const item of items.slice(0, NAMED_MAX)) {
    const cost = item.name.length + 1 + (item.kind === kind ? 0 : HEADINGS[item.kind].length + 1);
    if (cost > left) break;
    left -= cost;
    kind = item.kind;
    count += 1;
  }
  return { count, left };
}

function restLine(counts: Record<Kind, number>, more: boolean): string {
  const parts = (['skill', 'persona'] as const)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]}${more ? ' more' : ''} ${kind}${counts[kind] === 1 ? '' : 's'}`);
  return `${parts.join(' and ')}: skills(action="list")`;
}

function countKinds(items: readonly ListedItem[]): Record<Kind, number> {
  const personas = items.reduce((count, item) => count + (item.kind === 'persona' ? 1 : 0), 0);
  return { skill: items.length - personas, persona: personas };
}

/** What follows the name; on one line, so that no description can pass for another item. */
function fitDescription(description: string): string {
  const line = description.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line === '') return '';
  return `: ${line.length <= DESCRIPTION_CHARS ? line : cutAtWord(line, DESCRIPTION_CHARS)}`;
}

/** Cuts at the last word that fits with its `…`; a text without blanks between two characters. */
function cutAtWord(text: string, max: number): string {
  const blank = text.lastIndexOf(' ', max - 1);
  const cut = blank > 0 ? text.slice(0, blank) : wholeCharacters(text, max - 1);
  return `${cut.replace(/[\s,;:.–—-]+$/u, '')}…`;
}

/** The first `max` code units, without half a surrogate pair at the end. */
function wholeCharacters(text: string, max: number): string {
  return text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
}

function fitGuidelines(text: string, room: number): string {
  if (text.length <= room) return text;
  const pointer = `\nThe rest: ${GUIDELINES_CALL}`;
  const max = room - pointer.length;
  if (max >= GUIDELINES_MIN) return cutAtSentence(text, max) + pointer;
  const alone = `Guidelines: ${GUIDELINES_CALL}`;
  return alone.length <= room ? alone : '';
}

function cutAtSentence(text: string, max: number): string {
  const ends = [...text.slice(0, max + 1).matchAll(/[.!?…]["'”’)\]]*(?=\s)|[。！？]|\n/gu)];
  const last = ends.map((end) => end.index + end[0].length).findLast((end) => end <= max) ?? 0;
  // A sentence that is longer than half of the room would cost too much of it.
  return last < max / 2 ? cutAtWord(text.slice(0, max + 1), max) : text.slice(0, last).trimEnd();
}
