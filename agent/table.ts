import { appendFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { StateError } from './json-file.ts';

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
    if (lines > 2 * rows.size + 500) compact();
    else appendFileSync(path, text);
  }

  function compact(): void {
    const text = Array.from(rows, ([key, value]) => line(key, value)).join('');
    const next = `${path}.new`;
    writeFileSync(next, head + text, { mode: 0o600, flush: true });
    renameSync(next, path);
    lines = rows.size;
  }

  function load(): number {
    const bytes = read(path);
    // A power cut can leave zeros where the last lines should be; JSON has none.
    const zero = bytes.indexOf(0);
    const whole = bytes.lastIndexOf(10, zero < 0 ? undefined : zero) + 1;
    const [first = '', ...rest] = bytes.toString('utf8', 0, whole).split('\n').slice(0, -1);
    if (whole === 0) {
      if (!readOnly) writeFileSync(path, head, { mode: 0o600 });
      return 0;
    }
    if (`${first}\n` !== head) {
      throw new StateError(path, 'it is not what this version of the agent writes there');
    }
    for (const [index, text] of rest.entries()) apply(text, index + 2);
    if (whole < bytes.length && !readOnly) truncateSync(path, whole);
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

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return Buffer.alloc(0);
  }
}
