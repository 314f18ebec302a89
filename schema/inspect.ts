import { flagItem } from './flags.ts';
import { readFrontMatter } from './frontmatter.ts';
import type { Flag, Kind } from './item.ts';
import { resolveName } from './name.ts';

/**
 * What an item is called and says of itself, read from its main file, with everything that some client will not read as
 * meant. An item without a description has an empty one, flagged.
 * @throws RegistryError `invalid_name`, `too_large`, `invalid_front_matter`
 */
export function inspectItem(item: {
  kind: Kind;
  /** SKILL.md or PERSONA.md as `decodeText` gives it. */
  mainText: string;
  /** Name of the folder or file; what the item is called when the front matter has no valid name. */
  fallbackName?: string | undefined;
  fileCount: number;
}): { name: string; description: string; flags: Flag[]; frontMatter: Record<string, unknown> | null } {
  const { kind, mainText: text, fallbackName: fallback, fileCount } = item;
  const front = readFrontMatter(text);
  const { name, notes: nameNotes } = resolveName({
    kind,
    frontMatterName: front.entries.get('name')?.text?.trim(),
    fallback,
  });
  return {
    name,
    description: storable(front.entries.get('description')?.text?.trim() ?? ''),
    flags: flagItem({ kind, name, text, front, nameNotes, fileCount }),
    frontMatter: front.data,
  };
}

/** YAML escapes can write what no database or wire keeps as text: NUL and half surrogate pairs. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}
