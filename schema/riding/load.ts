import type { RidingSkill } from './skill.ts';

/** `get` of the `skills` tool for a skill that rides: one page of its body as JSON text, or a refusal that names the active ones. */
export declare function loadSkill(
  active: readonly RidingSkill[],
  name: string,
  start?: number,
): { text: string; isError: boolean };
