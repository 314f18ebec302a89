import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../../schema/riding/diagnostic.ts';
import { readLayer, type SkillFile } from '../../schema/riding/directory.ts';
import { openMirror } from '../mirror.ts';
import type { StateFiles } from '../state.ts';
import type { Reading } from './files.ts';

/**
 * The registry's active skills as this device last heard of them, so that they ride without a network. Null while the
 * device is not paired, or has never heard anything.
 */
export function registryReader(state: StateFiles): () => Reading | null {
  let seen = '';
  let reading: Reading | null = null;

  return () => {
    const now = stamp(join(state.mirror, 'items.jsonl'));
    if (now === seen) return reading;
    reading = now === '' ? null : read(state);
    seen = now;
    return reading;
  };
}

function read(state: StateFiles): Reading {
  try {
    const mirror = openMirror(state.mirror, { readOnly: true });
    const skills = [...mirror.items()].filter((item) => item.kind === 'skill' && item.state === 'active');
    const files = skills.map(({ name, files }): SkillFile => {
      const path = `registry:${name}`;
      const digest = files.find((file) => file.path === 'SKILL.md')?.digest;
      const content = digest === undefined ? null : mirror.content(digest);
      return content ? { path, content } : { path, error: 'its SKILL.md is not on this device' };
    });
    return readLayer({ kind: 'declared', label: 'registry', files, matching: 'alike' });
  } catch (error) {
    const message = `The registry's skills cannot be read on this device, so none of them rides: ${(error as Error).message}`;
    const failed: Diagnostic = { severity: 'warning', code: 'dropped', path: 'registry', message };
    return { layer: { kind: 'declared', label: 'registry', skills: [] }, diagnostics: [failed] };
  }
}

function stamp(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? [found.ino, found.size, found.mtimeNs].join(' ') : '';
}
