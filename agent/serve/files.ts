import { readdirSync, readFileSync, statSync } from 'node:fs';
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

/**
 * Reads a directory of skill files again and again. Each time every file's stamp is looked at, and only what has another
 * one is read; the layer stays the same object while nothing has changed.
 */
export function directoryReader(kind: 'project' | 'declared', directory: string): () => Reading {
  const files = new Map<string, { stamp: string; file: SkillFile }>();
  let seen = '';
  let reading: Reading | null = null;

  return () => {
    const stamps = listing(directory);
    const now = JSON.stringify(stamps);
    if (reading && now === seen) return reading;
    for (const name of files.keys()) if (!stamps.some(([each]) => each === name)) files.delete(name);
    for (const [name, stamp] of stamps) {
      if (files.get(name)?.stamp === stamp) continue;
      files.set(name, { stamp, file: readSkillFile(join(directory, name)) });
    }
    const ordered = stamps.map(([name]) => files.get(name)?.file).filter((file) => file !== undefined);
    seen = now;
    reading = readLayer({ kind, label: directory, files: ordered });
    return reading;
  };
}

/** A file's bytes, or in a few words why there are none. */
export function readSkillFile(path: string): SkillFile {
  try {
    return { path, content: readFileSync(path) };
  } catch (error) {
    return { path, error: sentence(error) };
  }
}

/** Names of the skill files in the order in which they are read, with what tells one state of a file from the next. */
function listing(directory: string): [name: string, stamp: string][] {
  const stamps = new Map<string, string>();
  try {
    for (const name of readdirSync(directory)) {
      if (!name.endsWith('.md')) continue;
      const found = statSync(join(directory, name), { throwIfNoEntry: false });
      if (!found?.isFile()) continue;
      const { ino, size, mtimeMs, ctimeMs, mode } = found;
      stamps.set(name, `${ino} ${size} ${mtimeMs} ${ctimeMs} ${mode}`);
    }
  } catch {
    // Gone meanwhile; there was a directory when we started, and there may be one again.
    return [];
  }
  const names = skillFileNames([...stamps.keys()].map((name) => ({ name, file: true })));
  return names.map((name) => [name, stamps.get(name) ?? '']);
}
