import { oneLine } from '../../schema/visible.ts';

/** Fits text into a terminal: what it shows, how wide it is, where it is cut. All functions are pure. */

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;
const ZERO = /\p{M}/u;

/** Columns that a text without controls takes on a terminal. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** Text cut to some columns, with an ellipsis where something is missing. */
export function cut(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let width = 1;
  for (const character of text) {
    width += displayWidth(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Text in lines of some columns, broken at blanks; lines after the first begin with `indent`. */
export function wrap(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    const room = columns - (lines.length > 0 ? displayWidth(indent) : 0);
    if (line !== '' && displayWidth(longer) > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].join(`\n${indent}`);
}

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** Widest that the column gets; a longer cell pushes the rest of its row to the right. */
  most?: number;
}

/**
 * Rows under a heading, columns apart by two blanks. Cells are shown on one line each; the last column takes what is left
 * of the width and is cut to it.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(oneLine))];
  const widths = columns.map(({ most = Number.POSITIVE_INFINITY }, i) =>
    Math.min(most, Math.max(...lines.map((line) => displayWidth(line[i] ?? '')))),
  );
  return lines.map((line) => {
    let text = '';
    for (const [i, { align }] of columns.entries()) {
      const cell = line[i] ?? '';
      const room = ' '.repeat(Math.max(0, (widths[i] as number) - displayWidth(cell)));
      if (align === 'right') text += room + cell;
      else if (i === columns.length - 1) text += cut(cell, Math.max(width - displayWidth(text), MIN_LAST));
      else text += cell + room;
      if (i < columns.length - 1) text += '  ';
    }
    return text.trimEnd();
  });
}

/** Columns of the last cell that stay even where a row is too long. */
const MIN_LAST = 12;

/** `1 skill`, `2 skills`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** How long ago a moment was, in the coarsest unit that says enough. Milliseconds since the epoch. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return seconds < 5 ? 'just now' : `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`;
}

/** A moment as `2026-01-31 18:05`, local time. */
export function moment(at: number): string {
  const date = new Date(at);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Bytes for a person: `812 B`, `1.4 MiB`. */
export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${Math.round(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
