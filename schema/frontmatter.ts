import { RegistryError } from './errors.ts';
import { type Flag, LIMITS } from './item.ts';
import { lineBreaks, parseMapping } from './yaml.ts';

/** Something odd that the reader forgave. Which clients it breaks depends on the kind: `flags.ts`. */
export type Note = Omit<Flag, 'clients'>;

/** A top-level key. Offsets count UTF-16 units in the text that was read, and serve edits by span. */
export interface Entry {
  /** 1-based. */
  readonly line: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueEnd: number;
  /** The value as text; undefined for null, lists and mappings. */
  readonly text: string | undefined;
  /** The same of each item when the value is a list. */
  readonly items: readonly (string | undefined)[] | undefined;
}

export interface FrontMatter {
  /** `lenient`: not valid YAML, taken key by key. `unreadable`: fenced, but without any key. `none`: no fence pair. */
  readonly reading: 'strict' | 'lenient' | 'unreadable' | 'none';
  /** YAML as JSON; null when unreadable or absent. */
  readonly data: Record<string, unknown> | null;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly notes: readonly Note[];
  /** The YAML between the fences; null without a fence pair. */
  readonly source: { readonly start: number; readonly end: number } | null;
  /** Where the text after the closing fence's line begins. */
  readonly bodyStart: number;
  /** The first line break of the text: what inserted lines end with. */
  readonly eol: '\n' | '\r\n' | '\r';
}

/** Bytes as text with its BOM kept, or null when they are not UTF-8 or hold a NUL. */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Reads the front matter of a SKILL.md or PERSONA.md, strictly and else leniently; `notes` says what was forgiven. Only
 * the first fence pair counts.
 * @throws RegistryError `too_large` over 16 KiB, `invalid_front_matter` for hostile YAML (see `parseMapping`)
 */
export function readFrontMatter(text: string): FrontMatter {
  const notes: Note[] = [];
  const eol = (/\r\n|\n|\r/.exec(text)?.[0] ?? '\n') as FrontMatter['eol'];
  const bom = text.startsWith('\uFEFF') ? 1 : 0;
  if (bom) {
    notes.push({ code: 'byte-order-mark', line: 1, message: 'The file begins with a byte order mark.' });
  }
  const fences = findFences(text, bom, notes);
  if (!fences) {
    return { reading: 'none', data: null, entries: new Map(), notes, source: null, bodyStart: bom, eol };
  }
  const { source, bodyStart, line } = fences;
  const raw = text.slice(source.start, source.end);
  const bytes = new TextEncoder().encode(raw).length;
  if (bytes > LIMITS.frontMatterBytes) {
    throw new RegistryError(
      'too_large',
      `The front matter has ${bytes} bytes, and ${LIMITS.frontMatterBytes} (16 KiB) is the most; move text into the body.`,
      { line },
    );
  }
  // The YAML parser knows no lone CR. One character for one: offsets stay.
  const place = { yaml: raw.replace(/\r(?!\n)/g, '\n'), start: source.start, line };
  const strict = parseMapping(place.yaml, line);
  if (strict) {
    const entries = new Map(strict.entries.map(({ key, ...entry }) => [key, locate(entry, place)]));
    return { reading: 'strict', data: strict.data, entries, notes, source, bodyStart, eol };
  }
  const { data, entries, notes: forgiven } = readKeyByKey(place);
  notes.push(...forgiven);
  if (entries.size === 0) {
    return { reading: 'unreadable', data: null, entries, notes, source, bodyStart, eol };
  }
  return { reading: 'lenient', data: Object.fromEntries(data), entries, notes, source, bodyStart, eol };
}

/** Finds the first fence pair; `line` is that of the YAML's first line. */
function findFences(
  text: string,
  from: number,
  notes: Note[],
): { source: { start: number; end: number }; bodyStart: number; line: number } | null {
  const opening = skipToFence(text, from);
  const fence = /^---[ \t]*(\r\n|\n|\r)/.exec(text.slice(opening.at));
  const ownLine = opening.at === from || /[\r\n]/.test(text.charAt(opening.at - 1));
  if (!fence || !ownLine) {
    notes.push({ code: 'no-front-matter', message: 'The file has no front matter.' });
    return null;
  }
  if (opening.comment !== null) {
    notes.push({
      code: 'comment-before-front-matter',
      line: 1 + lineBreaks(text.slice(0, opening.comment)),
      message: 'A comment stands before the front matter.',
    });
  }
  const openingLine = 1 + lineBreaks(text.slice(0, opening.at));
  const start = opening.at + fence[0].length;
  const fences = /[\r\n]---[ \t]*(?=[\r\n]|$)/g;
  // One character back, so that a closing fence right after the opening one is found by its line break.
  fences.lastIndex = start - 1;
  const closing = fences.exec(text);
  if (!closing) {
    notes.push({
      code: 'unreadable-front-matter',
      line: openingLine,
      message: 'The front matter is opened by a line of three hyphens but never closed by another.',
    });
    return null;
  }
  const afterFence = closing.index + closing[0].length;
  const lineBreak = /^(?:\r\n|\n|\r)/.exec(text.slice(afterFence, afterFence + 2))?.[0] ?? '';
  return {
    source: { start, end: closing.index + 1 },
    bodyStart: afterFence + lineBreak.length,
    line: openingLine + 1,
  };
}

/** Passes blank lines and HTML comments; `comment` is where the first of those begins. */
function skipToFence(text: string, from: number): { at: number; comment: number | null } {
  let at = from;
  let comment: number | null = null;
  for (;;) {
    const lineStart = at;
    while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
    if (!text.startsWith('<!--', at)) {
      const before = text.slice(lineStart, at);
      return { at: at - (/[ \t]*$/.exec(before)?.[0].length ?? 0), comment };
    }
    comment ??= at;
    const end = text.indexOf('-->', at + 4);
    if (end < 0) return { at, comment };
    at = end + 3;
  }
}

interface Place {
  /** The YAML, with lone CRs as LF. */
  readonly yaml: string;
  /** Its offset and its first line in the file. */
  readonly start: number;
  readonly line: number;
}

function locate(entry: Omit<Entry, 'line'>, { yaml, start, line }: Place): Entry {
  return {
    line: line + lineBreaks(yaml.slice(0, entry.keyStart)),
    keyStart: start + entry.keyStart,
    keyEnd: start + entry.keyEnd,
    valueEnd: start + entry.valueEnd,
    text: entry.text,
    items: entry.items,
  };
}

const NOT_YAML = 'The front matter is not valid YAML';

/** Takes each top-level key with the lines that follow it by itself, and as plain text where that is no YAML either. */
function readKeyByKey(place: Place): {
  data: Map<string, unknown>;
  entries: Map<string, Entry>;
  notes: Note[];
} {
  const { yaml } = place;
  const data = new Map<string, unknown>();
  const entries = new Map<string, Entry>();
  const notes: Note[] = [];
  const candidates = [...yaml.matchAll(KEY_LINE)];
  const indent = Math.min(...candidates.map((match) => (match[1] as string).length));
  const keys = candidates.filter((match) => match[1]?.length === indent);
  for (const [i, match] of keys.entries()) {
    const keyStart = match.index + indent;
    const keyEnd = keyStart + (match[2] as string).length;
    const key = unquote(match[2] as string);
    const line = place.line + lineBreaks(yaml.slice(0, keyStart));
    if (entries.has(key) || key === '__proto__') {
      const what = key === '__proto__' ? 'is not accepted; remove it' : 'is there already; keep one of them';
      throw new RegistryError('invalid_front_matter', `Line ${line}: the key \`${key}\` ${what}.`, { line });
    }
    const slice = yaml.slice(keyStart, keys[i + 1]?.index ?? yaml.length);
    const parsed = parseMapping(slice, line);
    const [only] = parsed?.entries.length === 1 ? parsed.entries : [];
    if (parsed && only) {
      data.set(key, parsed.data[only.key]);
      entries.set(
        key,
        locate(
          { keyStart, keyEnd, valueEnd: keyStart + only.valueEnd, text: only.text, items: only.items },
          place,
        ),
      );
      continue;
    }
    const plain = plainText(slice.slice(match[0].length - indent));
    data.set(key, plain.text);
    const valueEnd = keyStart + match[0].length - indent + plain.length;
    entries.set(key, locate({ keyStart, keyEnd, valueEnd, text: plain.text, items: undefined }, place));
    const colon = /:(?:\s|$)/.test(plain.text);
    notes.push({
      code: colon ? 'unquoted-colon' : 'unquoted-value',
      line,
      message: `${NOT_YAML}: the value of \`${key}\` ${colon ? 'has a colon' : 'needs quotes'}; put it in double quotes.`,
    });
  }
  if (notes.length === 0) {
    notes.push({
      code: 'unreadable-front-matter',
      line: place.line,
      message: `${NOT_YAML}${entries.size > 0 ? '; its keys were read one by one' : ' with a key in it'}.`,
    });
  }
  return { data, entries, notes };
}

/** Indentation, key, colon. `name` and `description` count without a blank after the colon too. */
const KEY_LINE =
  /(?<![^\n])( *)([\p{L}_][\p{L}\p{N}_.-]*(?=[ \t]*:(?:\s|$))|"[^"\r\n]*"(?=[ \t]*:)|'[^'\r\n]*'(?=[ \t]*:)|(?:name|description)(?=[ \t]*:))[ \t]*:/gu;

/** A value that is no YAML as the person meant it: lines folded, comments after a blank and outer quotes dropped. */
function plainText(source: string): { text: string; length: number } {
  const quoted = /^\s*["']/.test(source);
  const lines = source.split('\n');
  const kept = quoted ? lines.map((line) => line.trimEnd()) : lines.map(beforeComment);
  while (kept.length > 1 && beforeComment(kept.at(-1) as string).trim() === '') kept.pop();
  const last = kept.length - 1;
  const length = lines.slice(0, last).join('\n').length + (last > 0 ? 1 : 0) + (kept[last] as string).length;
  const [first = '', ...rest] = kept.map((line) => line.trim());
  const block = /^[|>][-+0-9]{0,2}$/.test(first);
  const folded = (block ? rest : [first, ...rest])
    .map((line) => line || '\n')
    .join(' ')
    .replace(/ ?\n ?/g, '\n')
    .trim();
  return { text: unquote(folded), length };
}

function beforeComment(line: string): string {
  for (let at = line.indexOf('#'); at >= 0; at = line.indexOf('#', at + 1)) {
    if (at === 0 || /\s/.test(line.charAt(at - 1))) return line.slice(0, at).trimEnd();
  }
  return line.trimEnd();
}

function unquote(text: string): string {
  return text.length > 1 && /^["']/.test(text) && text.at(-1) === text[0] ? text.slice(1, -1) : text;
}
