import { parse, stringify } from 'smol-toml';
import { type Format, lineEnd } from './format.ts';

/** TOML. A server is a table with its header, and the tables below it. */
export const tomlFormat: Format = {
  parse: (text) => parse(text),

  put(text, at, entry) {
    const eol = lineEnd(text);
    const table = stringify({ [at[0]]: { [at[1]]: entry } }).trimEnd();
    const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
    return `${text}${gap}${table.replaceAll('\n', eol)}${eol}`;
  },

  drop(text, at) {
    const starts = headers(text);
    let kept = '';
    let from = 0;
    for (const [index, { start, path }] of starts.entries()) {
      if (path[0] !== at[0] || path[1] !== at[1]) continue;
      const table = text.slice(start, starts[index + 1]?.start);
      kept += text.slice(from, start);
      // The blank line above goes with it, what is written above the next table stays.
      if (/(^|\n)\r?\n$/.test(kept)) kept = kept.replace(/\r?\n$/, '');
      from = start + contentLength(table);
    }
    return kept + text.slice(from);
  },
};

interface Header {
  /** Where its line begins. */
  start: number;
  path: string[];
}

/** The table headers of a valid text, in order. A bracket inside a string or a value is none. */
function headers(text: string): Header[] {
  const found: Header[] = [];
  let at = 0;
  while (at < text.length) {
    const [line = ''] = /^[^\n]*/.exec(text.slice(at)) ?? [];
    if (/^[\t ]*\[/.test(line)) {
      found.push({ start: at, path: headerPath(line) });
      at += line.length + 1;
    } else {
      at = endOfStatement(text, at);
    }
  }
  return found;
}

function headerPath(line: string): string[] {
  const path: string[] = [];
  let value: unknown = parse(line);
  for (;;) {
    if (Array.isArray(value)) value = value[0];
    const [entry] = Object.entries(value as Record<string, unknown>);
    if (!entry) return path;
    path.push(entry[0]);
    value = entry[1];
  }
}

/** Where the line after a key and its value begins; the value may go over several lines. */
function endOfStatement(text: string, start: number): number {
  const token =
    /"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|[[\]{}\n]/g;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '[' || found === '{') depth++;
    else if (found === ']' || found === '}') depth--;
    else if (found === '\n' && depth === 0) return token.lastIndex;
  }
  return text.length;
}

/** Characters of a table up to its last line that is neither blank nor a comment. */
function contentLength(table: string): number {
  const lines = table.split(/(?<=\n)/);
  const last = lines.findLastIndex((line) => !/^\s*(#.*)?$/.test(line.trimEnd()));
  return lines.slice(0, last + 1).join('').length;
}
