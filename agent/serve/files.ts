import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { readLayer, type SkillFile, skillFileNames } from '../../schema/riding/directory.ts';
import type { Layer } from '../../schema/riding/layers.ts';
import { sentence } from '../cli/failure.ts';

/** A layer as it is on disk just now, and what is odd about it. */
export interface Reading {
  layer: Layer;
  diagnostics: readonly Diagnostic[];
}

/** Far more than anybody wrote to be read in a conversation. */
const SKILL_MIB = 4;
const MIB = 1024 * 1024;

/**
 * Reads a directory of skill files again and again. Each time every file's stamp is looked at, and only what has another
 * one is read; the layer stays the same object while nothing has changed.
 */
export function directoryReader(kind: 'project' | 'declared', directory: string): () => Reading {
  const files = new Map<string, { stamp: string; file: SkillFile }>();
  let seen = '';
  let reading: Reading | null = null;

  return () => {
    let stamps: Stamped[] = [];
    let problem: string | null = null;
    try {
      stamps = listing(directory);
    } catch (error) {
      problem = sentence(error);
    }
    const now = JSON.stringify([problem, stamps]);
    if (reading && now === seen) return reading;
    for (const name of files.keys()) if (!stamps.some(([each]) => each === name)) files.delete(name);
    for (const [name, stamp] of stamps) {
      if (files.get(name)?.stamp === stamp) continue;
      files.set(name, { stamp, file: readSkillFile(join(directory, name)) });
    }
    const ordered = stamps.map(([name]) => files.get(name)?.file).filter((file) => file !== undefined);
    const { layer, diagnostics } = readLayer({ kind, label: directory, files: ordered });
    seen = now;
    reading = {
      layer,
      diagnostics: [...(problem === null ? [] : [unread(directory, problem)]), ...diagnostics],
    };
    return reading;
  };
}

/** A file's bytes, or in a few words why there are none. */
export function readSkillFile(path: string): SkillFile {
  try {
    return { path, content: readRegularFile(path, SKILL_MIB * MIB) };
  } catch (error) {
    return { path, error: sentence(error).replace(`${path} `, 'it ').replace(/\.$/, '') };
  }
}

/**
 * The bytes of a regular file, or of one that a link leads to. What has no end, or waits for somebody to write, is not
 * even begun.
 * @throws Error with a sentence, or that of the file system
 */
export function readRegularFile(path: string, most: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = fstatSync(file);
    if (found.isDirectory()) throw new Error(`${path} is a folder, and a file is needed.`);
    if (!found.isFile()) throw new Error(`${path} is no regular file.`);
    if (found.size > most)
      throw new Error(`${path} is larger than ${Math.round(most / 1024)} KiB; make it smaller.`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Full paths of the skill files of a directory, in the order in which they are read. @throws the file system's error */
export function skillFilesIn(directory: string): string[] {
  return listing(directory).map(([name]) => join(directory, name));
}

type Stamped = [name: string, stamp: string];

/** Names of the skill files in the order in which they are read, with what tells one state of a file from the next. */
function listing(directory: string): Stamped[] {
  const stamps = new Map<string, string>();
  for (const name of readdirSync(directory)) {
    const stamp = name.endsWith('.md') ? stampOf(join(directory, name)) : null;
    if (stamp !== null) stamps.set(name, stamp);
  }
  const names = skillFileNames([...stamps.keys()].map((name) => ({ name, file: true })));
  return names.map((name) => [name, stamps.get(name) ?? '']);
}

/** Null for what is no file. A link that leads nowhere was meant to be one, and is told of when it is read. */
function stampOf(path: string): string | null {
  try {
    const found = statSync(path);
    const { ino, size, mtimeMs, ctimeMs, mode } = found;
    return found.isFile() ? `${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}` : null;
  } catch {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? 'broken link' : null;
  }
}

function unread(path: string, problem: string): Diagnostic {
  const message = `None of the skills in ${path} rides, since it could not be read: ${problem}`;
  return { severity: 'error', code: 'dropped', path, message };
}
