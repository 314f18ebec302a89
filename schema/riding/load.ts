import { renderPage } from '../tools.ts';
import { activeNames } from './prompts.ts';
import type { RidingSkill } from './skill.ts';

/**
 * `get` of the `skills` tool for a skill that rides: one page of its raw body from UTF-16 unit `start`, as JSON text with
 * `next_start` while there is more. 16 KB arrive in one page. A name that is unknown or inactive at the time of the call
 * is an error that lists the active ones.
 */
export function loadSkill(
  active: readonly RidingSkill[],
  name: string,
  start = 0,
): { text: string; isError: boolean } {
  const skill = active.find((candidate) => candidate.name === name);
  if (skill === undefined) {
    return { text: `There is no skill ${JSON.stringify(name)} here; ${activeNames(active)}.`, isError: true };
  }
  const page = renderPage({ text: skill.body, start });
  const description = start === 0 && skill.description !== '' ? skill.description : undefined;
  return { text: JSON.stringify({ kind: 'skill', name, description, ...page }), isError: false };
}
