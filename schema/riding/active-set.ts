import { compareBytes, sha256 } from '../digest.ts';
import type { RidingSkill } from './skill.ts';

// Skills are read once and then kept by their hosts, while sets are compared on every request.
const hashes = new WeakMap<RidingSkill, Promise<string>>();

/**
 * One text for a set of active skills (names plus content hashes), whatever their order. A session that was told of one
 * set needs a change notice when, and only when, the text of the next one differs.
 */
export async function activeSet(active: readonly RidingSkill[]): Promise<string> {
  const sorted = active.toSorted((a, b) => compareBytes(a.name, b.name));
  const lines = await Promise.all(
    sorted.map(async (skill) => `${JSON.stringify(skill.name)} ${await hash(skill)}`),
  );
  return sha256(lines.join('\n'));
}

function hash(skill: RidingSkill): Promise<string> {
  const known = hashes.get(skill);
  if (known !== undefined) return known;
  // Neither where a skill comes from nor why it is active shows in a list.
  const { source: _source, gate: _gate, ...shown } = skill;
  const made = sha256(JSON.stringify(shown));
  hashes.set(skill, made);
  return made;
}
