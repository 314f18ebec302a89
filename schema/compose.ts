import { RegistryError } from './errors.ts';
import { type FrontMatter, readFrontMatter } from './frontmatter.ts';
import type { Kind } from './item.ts';

/**
 * Text of a new main file that every client reads: LF, no BOM, the description double-quoted on one line.
 * @throws RegistryError `invalid_input` for a text with NUL or half of a surrogate pair
 */
export function composeItem(item: {
  kind: Kind;
  name: string;
  description: string;
  instructions: string;
}): string {
  requireText('description', item.description);
  requireText('instructions', item.instructions);
  const body = bodyLines(item.instructions, '\n');
  const header = `---\nname: ${nameValue(item.name)}\ndescription: ${quote(item.description)}\n---\n`;
  return body === '' ? header : `${header}\n${body}\n`;
}

/**
 * The text with another description and every other byte as it was: a value is replaced whole, a missing key is added
 * below the name or at the end, missing front matter in front. Reads back as exactly `description`.
 * @throws RegistryError `invalid_input` as `composeItem`; `invalid_front_matter` where the file's YAML takes no such
 * edit; what `readFrontMatter` throws
 */
export function replaceDescription(text: string, description: string): string {
  requireText('description', description);
  return replaceValue(text, 'description', description, quote(description));
}

/** Like {@link replaceDescription}, for the name. The caller has checked it. */
export function replaceName(text: string, name: string): string {
  return replaceValue(text, 'name', name, nameValue(name));
}

/**
 * The text with another body. Front matter, the blank lines below it and the blanks that end the file stay; line breaks
 * become the file's own.
 * @throws RegistryError `invalid_input` as `composeItem`, and when the body would be read as front matter
 */
export function replaceInstructions(text: string, instructions: string): string {
  requireText('instructions', instructions);
  const { bodyStart, eol, source } = readFrontMatter(text);
  const old = text.slice(bodyStart);
  const head = text.slice(0, bodyStart);
  const body = bodyLines(instructions, eol);
  const before = /^(?:[ \t]*(?:\r\n|\n|\r))*/.exec(old)?.[0] ?? '';
  const after = old.slice(old.trimEnd().length);
  let edited: string;
  if (old.trim() !== '') edited = head + before + body + after;
  else if (source && !/[\r\n]$/.test(head)) edited = head + eol + eol + body + eol;
  else edited = head + (source ? before || eol : '') + body + eol;
  const again = readFrontMatter(edited);
  if ((again.source === null) !== (source === null)) {
    throw new RegistryError(
      'invalid_input',
      'The instructions begin with a line of three hyphens, which would be read as front matter; begin with text.',
      { field: 'instructions' },
    );
  }
  return edited;
}

function replaceValue(text: string, key: 'name' | 'description', value: string, yaml: string): string {
  const before = readFrontMatter(text);
  const edited = splice(text, before, key, yaml);
  const after = readFrontMatter(edited);
  const others = [...before.entries].every(
    ([name, entry]) => name === key || after.entries.get(name)?.text === entry.text,
  );
  const sound =
    after.entries.get(key)?.text === value &&
    others &&
    (before.reading !== 'strict' || after.reading === 'strict') &&
    (before.source === null || edited.slice(after.bodyStart) === text.slice(before.bodyStart));
  if (sound) return edited;
  throw new RegistryError(
    'invalid_front_matter',
    `The front matter is written in a way in which its ${key} cannot be changed alone; send the whole file instead.`,
    { field: key },
  );
}

function splice(text: string, front: FrontMatter, key: string, yaml: string): string {
  const { source, entries, eol, bodyStart } = front;
  if (!source) {
    const bom = text.slice(0, text.startsWith('\uFEFF') ? 1 : 0);
    const rest = text.slice(bodyStart);
    const gap = /^[ \t]*(?:[\r\n]|$)/.test(rest) ? '' : eol;
    return `${bom}---${eol}${key}: ${yaml}${eol}---${eol}${gap}${rest}`;
  }
  const entry = entries.get(key);
  if (entry) {
    const blanks = /^[ \t]*:[ \t]*/.exec(text.slice(entry.keyEnd))?.[0] ?? ':';
    const lead = /[ \t]$/.test(blanks) ? blanks : `${blanks} `;
    const end = Math.max(entry.keyEnd + blanks.length, entry.valueEnd);
    const gap = text.charAt(end) === '#' ? ' ' : '';
    return text.slice(0, entry.keyEnd) + lead + yaml + gap + text.slice(end);
  }
  const name = entries.get('name');
  const first = entries.values().next().value;
  const indent = first ? (/[ \t]*$/.exec(text.slice(source.start, first.keyStart))?.[0] ?? '') : '';
  const firstLine = first ? first.keyStart - indent.length : source.end;
  const belowName = name ? lineEnd(text, name.valueEnd, source.end) : source.end;
  const at = key === 'name' ? firstLine : belowName;
  return `${text.slice(0, at)}${indent}${key}: ${yaml}${eol}${text.slice(at)}`;
}

function lineEnd(text: string, from: number, max: number): number {
  const lineBreak = /\r\n|\n|\r/g;
  lineBreak.lastIndex = from;
  const found = lineBreak.exec(text);
  return found ? Math.min(max, found.index + found[0].length) : max;
}

/** JSON's escapes are YAML's, but YAML counts more characters as breaks or as unprintable. */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7f-\x9f\u2028\u2029\uFEFF\uFFFE\uFFFF]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A valid name such as `true`, `on` or `2024-01-01` is something else to one YAML reader or another. */
function nameValue(name: string): string {
  return /^[a-z]/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/.test(name) ? name : quote(name);
}

function bodyLines(instructions: string, eol: string): string {
  return instructions
    .replace(/^(?:[ \t]*(?:\r\n|\n|\r))+/, '')
    .trimEnd()
    .replace(/\r\n|\n|\r/g, eol);
}

function requireText(field: 'description' | 'instructions', text: string): void {
  if (text.isWellFormed() && !text.includes('\0')) return;
  throw new RegistryError(
    'invalid_input',
    `There is a NUL character or half of a surrogate pair in the ${field}; send valid Unicode text.`,
    { field },
  );
}
