import type { Tool } from '@modelcontextprotocol/server';
import type { ClientRow } from '../../schema/clients.ts';
import { composeTools } from '../../schema/riding/compose.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import { evaluate } from '../../schema/riding/gates.ts';
import { loadSkill } from '../../schema/riding/load.ts';
import { shippedLayers } from '../../schema/riding/shipped.ts';
import type { RidingSkill } from '../../schema/riding/skill.ts';

/**
 * Repertoire's own tools with its own skills on them. A description that would no longer fit what the client shows stays as
 * it is: the listing in it comes first.
 */
export function rideOwnTools(tools: readonly Tool[], client: ClientRow | null): Tool[] {
  const cap = descriptionCap(client);
  const { tools: composed } = composeTools({
    tools,
    active: activeFor(tools.map(({ name }) => name)),
    delivery: 'auto',
    cap,
    loader: 'skills',
  });
  return composed.map((tool, index) => {
    const fits = cap === null || (tool.description?.length ?? 0) <= cap;
    return fits ? tool : (tools[index] ?? tool);
  });
}

/** A page of the method of one of our own skills; null when none of them has this name. */
export function loadOwnSkill(name: string, start: number | undefined): string | null {
  const loaded = loadSkill(activeFor(['skills', 'skill_edit']), name, start);
  return loaded.isError ? null : loaded.text;
}

function activeFor(tools: readonly string[]): RidingSkill[] {
  const { skills } = shippedLayers().bundled;
  return evaluate(skills, { tools: new Set(tools), extensions: {}, graph: null }).active;
}
