import { compareBytes, sha256 } from '../digest.ts';
import type { RidingSkill } from './skill.ts';

// Skills are read once and then kept by their hosts, while sets are compared on every request.
const hashes = new WeakMap<RidingSkill, string>();

/**
 * One text for a set of active skills (names plus content hashes), whatever their order. A session that was told of one
 * set needs a change notice when, and only when, the text of the next one differs.
 */
export async function activeSet(active: readonly RidingSkill[]): Promise<string> {
  await Promise.all(active.filter((skill) => !hashes.has(skill)).map(remember));
  const sorted = active.toSorted((a, b) => compareBytes(a.name, b.name));
  return sha256(sorted.map((skill) => `${JSON.stringify(skill.name)} ${hashes.get(skill)}`).join('\n'));
}

async function remember(skill: RidingSkill): Promise<void> {
  // Neither where a skill comes from nor why it is active shows in a list.
  const { source: _source, gate: _gate, ...shown } = skill;
  hashes.set(skill, await sha256(JSON.stringify(shown)));
}

/** Whether these are the very same skills in the same order: a cheap look before {@link activeSet}, by identity. */
export function sameSkills(a: readonly RidingSkill[], b: readonly RidingSkill[]): boolean {
  return a.length === b.length && a.every((skill, index) => skill === b[index]);
}
