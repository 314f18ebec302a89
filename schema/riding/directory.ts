import { compareBytes } from '../digest.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { Layer, LayerKind } from './layers.ts';
import { type RidingSkill, readRidingSkill } from './skill.ts';

/** `file`: a regular file, or a symbolic link to one. */
export interface DirectoryEntry {
  readonly name: string;
  readonly file: boolean;
}

/**
 * The files of a directory that are skills, in the order in which they are read: those ending in exactly `.md`, by name
 * in byte order. Folders (also `name/SKILL.md` ones), other extensions and a bare `.md` are none, silently.
 */
export function skillFileNames(entries: readonly DirectoryEntry[]): string[] {
  return entries
    .filter(({ name, file }) => file && name.endsWith('.md') && name !== '.md')
    .map(({ name }) => name)
    .sort(compareBytes);
}

/** A file's bytes, or why they could not be read. */
export type SkillFile = { readonly path: string } & (
  | { readonly content: Uint8Array | string }
  | { readonly error: string }
);

/**
 * Reads the files of one layer in the order given. Of two with one name the first wins; a dropped file takes no name and
 * never affects its neighbours. `label` names the layer to a person: a directory, or the registry.
 */
export function readLayer(input: {
  kind: LayerKind;
  label: string;
  files: readonly SkillFile[];
  matching?: RidingSkill['matching'];
}): { layer: Layer; diagnostics: Diagnostic[] } {
  const { kind, label, files, matching = 'exact' } = input;
  const skills = new Map<string, RidingSkill>();
  const diagnostics: Diagnostic[] = [];
  for (const file of files) {
    const { path } = file;
    if ('error' in file) {
      const message = `${path} is left out: it could not be read (${file.error}).`;
      diagnostics.push({ severity: 'error', code: 'dropped', path, message });
      continue;
    }
    const { skill, diagnostics: found } = readRidingSkill(path, file.content, { matching });
    diagnostics.push(...found);
    if (skill === null) continue;
    const first = skills.get(skill.name);
    if (first === undefined) {
      skills.set(skill.name, skill);
      continue;
    }
    diagnostics.push({
      severity: 'warning',
      code: 'duplicate-name',
      path,
      skill: skill.name,
      message: `${path} is left out: ${first.source} is a skill named \`${skill.name}\` too and is read first; rename one.`,
    });
  }
  return { layer: { kind, label, skills: [...skills.values()] }, diagnostics };
}
