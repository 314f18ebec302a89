import { expect } from 'vitest';
import { type RidingSkill, readRidingSkill } from '../../../schema/riding/skill.ts';

/** A skill file: front matter lines between fences, then the body. */
export function file(front: string, body = 'Do it well.\n'): string {
  return `---\n${front}\n---\n${body}`;
}

/** The skill in a file that must be readable. */
export function skill(
  front: string,
  body?: string,
  options?: { matching: RidingSkill['matching'] },
): RidingSkill {
  const read = readRidingSkill('test.md', file(front, body), options);
  expect(read.skill, JSON.stringify(read.diagnostics)).not.toBeNull();
  return read.skill as RidingSkill;
}

export function names(skills: readonly { name: string }[]): string[] {
  return skills.map(({ name }) => name);
}
