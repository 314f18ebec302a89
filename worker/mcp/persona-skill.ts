import { decodeText, readFrontMatter } from '../../schema/frontmatter.ts';
import { MAIN_FILE } from '../../schema/item.ts';
import { quote, restrictions } from '../../schema/persona.ts';
import type { SkillRow } from '../registry/skill-source.ts';

/**
 * A persona as the SKILL.md of a skill that adopts it; there is no public standard for personas. Equal personas give
 * equal bytes. PERSONA.md stays the source, beside it.
 */
export function personaSkill({ name, description, frontMatter, main }: Omit<SkillRow, 'files'>): {
  frontMatter: Record<string, unknown>;
  bytes: Uint8Array;
} {
  const shown = description.toWellFormed();
  const lines = [`name: ${name}`, `description: ${quote(shown)}`, 'metadata:', '  kind: persona'];
  const paragraphs = [
    `Take on the persona ${name} until the user ends it or names another.`,
    ...restriction(restrictions(frontMatter)),
    roleOf(main),
  ];
  return {
    frontMatter: { name, description: shown, metadata: { kind: 'persona' } },
    bytes: new TextEncoder().encode(`---\n${lines.join('\n')}\n---\n\n${paragraphs.join('\n\n')}\n`),
  };
}

function restriction(keys: readonly string[]): string[] {
  if (keys.length === 0) return [];
  return [`Its ${MAIN_FILE.persona} restricts ${keys.join(', ')}: read there to what, and keep to that.`];
}

function roleOf(main: Uint8Array | null): string {
  const text = main && decodeText(main);
  if (text === null)
    return `Who it is stands in ${MAIN_FILE.persona}, beside this file: read it whole first.`;
  return text.slice(readFrontMatter(text).bodyStart).trim();
}
