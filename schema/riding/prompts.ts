import { compareBytes } from '../digest.ts';
import type { RidingSkill } from './skill.ts';

/**
 * `prompts/list`: every active skill, those that ride nowhere too, by name in byte order. Prompts are a fallback for
 * clients that show them to people; agents read tool descriptions.
 */
export function listPrompts(active: readonly RidingSkill[]): { name: string; description?: string }[] {
  return active
    .toSorted((a, b) => compareBytes(a.name, b.name))
    .map(({ name, description }) => (description === '' ? { name } : { name, description }));
}

/** `prompts/get`: the raw body as one user message; or a JSON-RPC error, the same for unknown and inactive names. */
export function getPrompt(
  active: readonly RidingSkill[],
  name: string,
):
  | { messages: [{ role: 'user'; content: { type: 'text'; text: string } }] }
  | { error: { code: -32602; message: string } } {
  const skill = active.find((candidate) => candidate.name === name);
  if (skill === undefined) {
    return {
      error: { code: -32602, message: `There is no prompt ${JSON.stringify(name)}; ${activeNames(active)}.` },
    };
  }
  return { messages: [{ role: 'user', content: { type: 'text', text: skill.body } }] };
}

/** The active names in order, or `(none)`: what a caller who asked for another may know. */
export function activeNames(active: readonly RidingSkill[]): string {
  const names = active.map(({ name }) => name).sort(compareBytes);
  return `active now: ${names.length === 0 ? '(none)' : names.join(', ')}`;
}
