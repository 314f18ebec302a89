import { lstatSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Longer than any path that a link in a repository holds. */
const LONGEST = 512;

/**
 * Where git has no links to make (Windows), it writes a link as a small text file that holds the target. Gives the target
 * when a file looks like that: one line without a line break that leads up and out, or to something that exists; else null.
 */
export function linkStub(path: string): string | null {
  const size = lstatSync(path).size;
  if (size === 0 || size > LONGEST) return null;
  const text = readFileSync(path, 'utf8');
  if (/[\s\p{Cc}\uFFFD]/u.test(text) || !text.includes('/')) return null;
  if (/^[a-z]+:/i.test(text) || text.startsWith('/')) return null;
  if (text.startsWith('../')) return text;
  return statSync(resolve(dirname(path), text), { throwIfNoEntry: false }) ? text : null;
}
