import { McpServer, ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server';
import { composeListing, listingCap } from '../../schema/listing.ts';
import { SkillEditInput, SkillsInput } from '../../schema/tools.ts';
import { readListing } from '../registry/listing.ts';
import { LIST_CACHE, NO_CACHE } from './cache.ts';
import type { Session } from './session.ts';
import { skillEdit } from './skill-edit.ts';
import { skills } from './skills.ts';
import { attachSkills } from './skills-extension.ts';
import { definition, parseArguments, skillsTool } from './skills-tool.ts';

export const SERVER = { name: 'repertoire', title: 'Repertoire', version: '0.1.0' } as const;

/** Newest first; for any other the newest that knows `initialize` is offered. */
const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Methods whose answer carries the listing as `instructions`. */
const HANDSHAKES: readonly string[] = ['initialize', 'server/discover'];

/**
 * The MCP server of one request. Only a handshake reads the listing before anything else; what other methods need is
 * read when they are answered.
 */
export async function buildServer(session: Session, methods: readonly string[]): Promise<McpServer> {
  const instructions = methods.some((method) => HANDSHAKES.includes(method))
    ? await session.refusals.method(() => listing(session))
    : '';
  const mcp = new McpServer(SERVER, {
    instructions,
    supportedProtocolVersions: [...REVISIONS],
    // Nothing is kept between requests that a notification could come from.
    capabilities: {
      tools: { listChanged: false },
      prompts: { listChanged: false },
      resources: { listChanged: false },
    },
    cacheHints: {
      'server/discover': NO_CACHE,
      'tools/list': LIST_CACHE,
      'prompts/list': LIST_CACHE,
      'resources/list': LIST_CACHE,
      'resources/templates/list': LIST_CACHE,
    },
  });
  mcp.server.setRequestHandler('tools/list', () =>
    session.refusals.method(async () => ({ tools: await listTools(session) })),
  );
  mcp.server.setRequestHandler('tools/call', ({ params }) =>
    callTool(session, params.name, params.arguments ?? {}),
  );
  attachSkills(mcp, session);
  return mcp;
}

async function listing({ ctx, caller }: Session): Promise<string> {
  const cap = listingCap(caller.client, 'instructions');
  return composeListing({ ...(await readListing(ctx, caller)), cap, channel: 'instructions' });
}

const SKILL_EDIT = definition('skill_edit');

/** The tools that the caller's credential lets it use, always in one order. */
async function listTools({ ctx, caller }: Session): Promise<Tool[]> {
  const skills = await skillsTool(ctx, caller);
  const { readOnly } = await ctx.enter();
  ctx.require('skills:read');
  return readOnly ? [skills] : [skills, SKILL_EDIT];
}

async function callTool({ ctx, refusals }: Session, name: string, args: unknown) {
  switch (name) {
    case 'skills':
      return refusals.tool(async () => skills(ctx, parseArguments(SkillsInput, args)));
    case 'skill_edit':
      return refusals.tool(async () => skillEdit(ctx, parseArguments(SkillEditInput, args)));
    default:
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${name}.`);
  }
}
