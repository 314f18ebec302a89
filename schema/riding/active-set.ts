import type { RidingSkill } from './skill.ts';

/** One text for a set of active skills (names and content hashes): it differs when a list composed from them would. */
export declare function activeSet(active: readonly RidingSkill[]): Promise<string>;
