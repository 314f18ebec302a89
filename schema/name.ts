import { RegistryError } from './errors.ts';
import type { Note } from './frontmatter.ts';
import { ItemName, type Kind, LIMITS } from './item.ts';

/** Whether a string is a name by the agentskills.io rule, and one that every file system can have as a folder. */
export function isItemName(name: string): boolean {
  return ItemName.safeParse(name).success;
}

/** The valid name nearest to a string, or null when it has no Latin letter or digit to make one of. */
export function suggestName(text: string): string | null {
  const slug = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LIMITS.name + 1)
    .replace(/^-/, '');
  const name = slug.slice(0, LIMITS.name).replace(/-$/, '');
  if (name === '') return null;
  return isItemName(name) ? name : `${name}-item`;
}

/** The refusal of a name, with the rule and the nearest name that keeps it. */
export function invalidName(given: string, field = 'name'): RegistryError {
  const suggestion = suggestName(given);
  return new RegistryError(
    'invalid_name',
    `${show(given)} is no valid name: use 1 to ${LIMITS.name} of a-z, 0-9 and single hyphens, and no device name of Windows${suggestion === null ? '' : `, such as ${suggestion}`}.`,
    { field },
  );
}

/**
 * The name of an item: the front matter's when it is valid, else that of its folder or file, with a note saying so.
 * @throws RegistryError `invalid_name` when neither is valid; the sentence proposes one
 */
export function resolveName(item: {
  kind: Kind;
  frontMatterName: string | undefined;
  /** Name of the folder, or of the file without its extension. */
  fallback: string | undefined;
}): { name: string; notes: Note[] } {
  const { kind, frontMatterName: written, fallback } = item;
  if (written !== undefined && isItemName(written)) {
    if (fallback === undefined || fallback === written) return { name: written, notes: [] };
    const message = `The front matter says ${show(written)}, the folder or file was called ${show(fallback)}; the front matter counts.`;
    return { name: written, notes: [{ code: 'name-differs', message }] };
  }
  if (fallback !== undefined && isItemName(fallback)) {
    const note: Note =
      written === undefined
        ? {
            code: 'name-missing',
            message: `The front matter has no name; the ${kind} is called ${fallback}.`,
          }
        : {
            code: 'name-invalid',
            message: `The front matter's name ${show(written)} is no valid one; the ${kind} is called ${fallback}.`,
          };
    return { name: fallback, notes: [note] };
  }
  const given = written ?? fallback;
  if (given !== undefined) throw invalidName(given);
  throw new RegistryError(
    'invalid_name',
    `The ${kind} has no name: give it one of 1 to ${LIMITS.name} of a-z, 0-9 and single hyphens.`,
    { field: 'name' },
  );
}

/** Cut, since a name that is refused can be of any length. */
function show(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
