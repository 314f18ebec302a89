import {
  type CallToolRequest,
  type CallToolResult,
  type ListToolsResult,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { RegistryError } from '../../schema/errors.ts';
import { composeListing, listingCap } from '../../schema/listing.ts';
import { SkillEditInput, SkillsInput } from '../../schema/tools.ts';
import { forwardCall } from '../gateway/forward.ts';
import { findMainTool, listMainTools, loadFromMain } from '../gateway/main.ts';
import { staleServersMeta } from '../gateway/tools.ts';
import { REVISIONS } from '../mcp-answer.ts';
import { HANDSHAKES } from '../mcp-door.ts';
import { readListing } from '../registry/listing.ts';
import { LIST_CACHE, NO_CACHE } from './cache.ts';
import { loadOwnSkill, rideOwnTools } from './own-riding.ts';
import type { Session } from './session.ts';
import { skillEdit } from './skill-edit.ts';
import { skills } from './skills.ts';
import { attachSkills } from './skills-extension.ts';
import { definition, parseArguments, skillsTool } from './skills-tool.ts';

export const SERVER = { name: 'repertoire', title: 'Repertoire', version: '0.1.0' } as const;

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
    supportedProtocolVersions: REVISIONS,
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
  mcp.server.setRequestHandler('tools/list', () => session.refusals.method(() => listTools(session)));
  mcp.server.setRequestHandler('tools/call', (request, call) => callTool(session, request, call));
  attachSkills(mcp, session);
  return mcp;
}

async function listing({ ctx, caller }: Session): Promise<string> {
  const cap = listingCap(caller.client, 'instructions');
  return composeListing({ ...(await readListing(ctx, caller)), cap, channel: 'instructions' });
}

const SKILL_EDIT = definition('skill_edit');

/**
 * The tools that the caller's credential lets it use, ours first, always in one order; then those of the servers that the
 * account has switched into this list.
 */
async function listTools({ ctx, caller, servers }: Session): Promise<ListToolsResult> {
  const { tool, mainServers } = await skillsTool(ctx, caller);
  const others = mainServers === 0 ? null : await listMainTools(await servers(), caller.client);
  const { readOnly } = await ctx.enter();
  ctx.require('skills:read');
  const own = rideOwnTools(readOnly ? [tool] : [tool, SKILL_EDIT], caller.client);
  return { tools: [...own, ...(others?.tools ?? [])], ...staleServersMeta(others?.stale ?? {}) };
}

async function callTool(session: Session, { params }: CallToolRequest, call: ServerContext) {
  const { ctx, caller, refusals, servers } = session;
  const { name, arguments: args = {} } = params;
  switch (name) {
    case 'skills':
      return refusals.tool(() => readSkills(session, parseArguments(SkillsInput, args)));
    case 'skill_edit':
      return refusals.tool(async () => skillEdit(ctx, parseArguments(SkillEditInput, args)));
  }
  const found = await refusals.method(async () => findMainTool(await servers(), name));
  if (!found) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${name}.`);
  const request = { session: found.session, caller, callerId: ctx.actor.id, mirrored: session.mirrored };
  return forwardCall(request, { ...params, name: found.tool }, call) as Promise<CallToolResult>;
}

/** The account's items first; then the methods that ride on tools of this list without being items. */
async function readSkills({ ctx, servers }: Session, input: SkillsInput): Promise<string> {
  try {
    return await skills(ctx, input);
  } catch (error) {
    const { action, name, path, start } = input;
    if (!(error instanceof RegistryError) || error.code !== 'not_found') throw error;
    if (action !== 'get' || name === undefined || path !== undefined) throw error;
    const method = loadOwnSkill(name, start) ?? (await loadFromMain(await servers(), name, start));
    if (method === null) throw error;
    return method;
  }
}
