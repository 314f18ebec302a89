import { closeSync, fstatSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { readState, StateError, writeWhole, writing } from './json-file.ts';

/** Records of one kind by key, kept as lines of JSON: the last line of a key counts, null ends it. */
export interface Table<T> {
  get(key: string): T | undefined;
  entries(): IterableIterator<[string, T]>;
  readonly size: number;
  /** Changes records at once and appends them in one write, so that a small change costs a small write. */
  write(changes: Iterable<readonly [string, T | null]>): void;
}

export interface TableOptions<T> {
  path: string;
  /** First line of the file, which says what it is and in which version. */
  title: string;
  record: z.ZodType<T>;
  /** For a process that is not the one agent: what another one is just appending is left alone. */
  readOnly?: boolean;
}

/**
 * Opens a table. The torn end of a write that a crash cut off is dropped; a file that is damaged in any other way is
 * refused with one sentence and kept as it is.
 */
export function openTable<T>({ path, title, record, readOnly = false }: TableOptions<T>): Table<T> {
  const rows = new Map<string, T>();
  const head = `${JSON.stringify({ table: title, version: 1 })}\n`;
  /** Bytes that the file should have; null when that is not known. */
  let size: number | null = null;
  let lines = load();

  return {
    get: (key) => rows.get(key),
    entries: () => rows.entries(),
    get size() {
      return rows.size;
    },
    write,
  };

  function write(changes: Iterable<readonly [string, T | null]>): void {
    if (readOnly) throw new Error(`${path} is open for reading only`);
    let text = '';
    for (const [key, value] of changes) {
      if (value === null && !rows.delete(key)) continue;
      if (value !== null) rows.set(key, value);
      text += line(key, value);
      lines++;
    }
    if (text === '') return;
    if (lines > 2 * rows.size + 500 || !writing(path, () => append(text))) compact();
  }

  /** False when the file is not as it was left: what a full disk cut short, or someone deleted, is written anew. */
  function append(text: string): boolean {
    const fd = openSync(path, 'a', 0o600);
    try {
      const before = size;
      size = null;
      if (fstatSync(fd).size !== before) return false;
      writeFileSync(fd, text);
      size = before + Buffer.byteLength(text);
      return true;
    } finally {
      closeSync(fd);
    }
  }

  function compact(): void {
    const text = head + Array.from(rows, ([key, value]) => line(key, value)).join('');
    size = null;
    writeWhole(path, text);
    size = Buffer.byteLength(text);
    lines = rows.size;
  }

  function load(): number {
    const bytes = readState(path) ?? Buffer.alloc(0);
    // A power cut can leave zeros where the last lines should be; JSON has none.
    const zero = bytes.indexOf(0);
    const end = zero < 0 ? bytes.length : zero;
    if (bytes.subarray(end).some((byte) => byte !== 0 && byte !== 10)) {
      throw new StateError(path, 'there are zeros in the middle of it');
    }
    const whole = bytes.lastIndexOf(10, end) + 1;
    if (whole === 0 && head.startsWith(bytes.toString('utf8', 0, end))) return 0;
    const [first = '', ...rest] = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1);
    if (`${first}\n` !== head) {
      throw new StateError(path, 'it is not what this version of the agent writes there');
    }
    for (const [index, text] of rest.entries()) apply(text, index + 2);
    if (whole < bytes.length && !readOnly) writing(path, () => truncateSync(path, whole));
    size = whole;
    return rest.length;
  }

  function apply(text: string, number: number): void {
    let pair: unknown;
    try {
      pair = JSON.parse(text);
    } catch {
      throw new StateError(path, `line ${number} is damaged`);
    }
    const [key, value] = Array.isArray(pair) ? pair : [];
    const parsed = value === null ? null : record.safeParse(value);
    if (typeof key !== 'string' || parsed?.success === false) {
      throw new StateError(path, `line ${number} is no record of it`);
    }
    if (parsed === null) rows.delete(key);
    else rows.set(key, parsed.data);
  }

  function line(key: string, value: T | null): string {
    return `${JSON.stringify([key, value])}\n`;
  }
}
