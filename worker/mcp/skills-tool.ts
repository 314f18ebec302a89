import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { RegistryError } from '../../schema/errors.ts';
import { listingCap, listsInTool } from '../../schema/listing.ts';
import { skillsDescription, TOOLS } from '../../schema/tools.ts';
import { requirePlainJson } from '../plain-json.ts';
import type { Context } from '../registry/context.ts';
import { type Listing, readListing } from '../registry/listing.ts';
import type { Caller } from './caller.ts';

/** A model that got thousands of arguments wrong learns as much from a few. */
const PROBLEMS_TOLD = 5;

/** A tool of ours as MCP lists it. */
export function definition(name: keyof typeof TOOLS): Tool {
  const { inputSchema, ...tool } = TOOLS[name];
  return { name, ...tool, inputSchema: z.toJSONSchema(inputSchema, { io: 'input' }) as Tool['inputSchema'] };
}

const SKILLS = definition('skills');

/**
 * The tool `skills`, with the listing in its description where `instructions` may not bring it; and how many servers are
 * in the main list, null where nothing had to be read. `read` is the listing where it is known already.
 */
export async function skillsTool(
  ctx: Context,
  { client, wsl }: Pick<Caller, 'client' | 'wsl'>,
  read: Listing | null = null,
): Promise<{ tool: Tool; mainServers: number | null }> {
  if (!listsInTool(client)) return { tool: SKILLS, mainServers: null };
  const { mainServers, ...told } = read ?? (await readListing(ctx, { client, wsl }));
  const description = skillsDescription({ ...told, cap: listingCap(client, 'tool-description') });
  return { tool: { ...SKILLS, description }, mainServers };
}

/** A tool's arguments. @throws RegistryError `invalid_input` in words for a model */
export function parseArguments<T>(schema: z.ZodType<T>, args: unknown): T {
  const parsed = schema.safeParse(args);
  if (parsed.success) {
    requirePlainJson(args, 'arguments');
    return parsed.data;
  }
  const problems = parsed.error.issues
    .slice(0, PROBLEMS_TOLD)
    .map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new RegistryError(
    'invalid_input',
    `Nothing was done, because the arguments do not fit: ${problems.join('; ')}.`,
  );
}
