import type { Diagnostic } from './diagnostic.ts';
import type { RidingSkill } from './skill.ts';

/** Begins the source of a skill that is an item of the registry. */
export const ITEM_SOURCE = 'registry:';

/**
 * Whether a skill has to do with a server: files that are there for it do, items of the registry where they reference tools
 * or have the name of one, in which `_` and `-` are alike.
 */
export function concerns(
  { source, name, referencesTools, matching }: RidingSkill,
  tools: ReadonlySet<string>,
): boolean {
  if (!source.startsWith(ITEM_SOURCE)) return true;
  if (referencesTools.length > 0) return true;
  return matching === 'exact'
    ? tools.has(name)
    : [...tools].some((tool) => tool.replaceAll('_', '-') === name);
}

/** What is odd about an item that has nothing to do with a server is told where items are looked after. */
export function concerningNotes(
  diagnostics: readonly Diagnostic[],
  { skills, concerned }: { skills: readonly RidingSkill[]; concerned: readonly RidingSkill[] },
): Diagnostic[] {
  const all = new Set(skills.map(({ source }) => source));
  const kept = new Set(concerned.map(({ source }) => source));
  return diagnostics.filter(({ path = '' }) => {
    const dropped = path.startsWith(ITEM_SOURCE) && !all.has(path);
    return !dropped && (kept.has(path) || !all.has(path));
  });
}
