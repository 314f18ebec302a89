import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { composeListing, listingCap, POINTER } from '../../schema/listing.ts';
import { composeInstructions } from '../../schema/riding/channels.ts';
import { refusalOf } from '../log.ts';
import { LIST_CACHE, NO_CACHE } from '../mcp/cache.ts';
import { REVISIONS } from '../mcp-answer.ts';
import { HANDSHAKES } from '../mcp-door.ts';
import { readListing } from '../registry/listing.ts';
import type { Facts } from './facts.ts';
import { forwardCall, forwardMethod } from './forward.ts';
import { getRidingPrompt, listRidingPrompts } from './prompts.ts';
import type { GatewayRequest } from './request.ts';
import { shownName } from './shown-tools.ts';
import { listShownTools } from './tools.ts';
import { unlessDown } from './upstream-error.ts';

/** Everything that a handler may be there for; what the server really offers is said in the handshake. */
const ALL: ServerCapabilities = { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} };

/**
 * The MCP server of one request to `/mcp/<server>`. Lists of tools and prompts are made here, since skills ride on them;
 * calls pass with what the manifest changes; every other method passes as it is, known here or not.
 */
export async function buildGateway(request: GatewayRequest, methods: readonly string[]): Promise<Server> {
  const shaken = methods.some((method) => HANDSHAKES.includes(method));
  const { instructions, facts } = shaken ? await handshake(request) : { instructions: '', facts: null };
  const { server: added, manifest } = request.session;
  const own = facts?.serverInfo ?? { name: added.name, version: '0' };
  const server = new Server(manifest.name === null ? own : { ...own, name: manifest.name }, {
    instructions,
    supportedProtocolVersions: REVISIONS,
    capabilities: facts ? offered(facts.capabilities) : shaken ? { tools: {}, prompts: {} } : ALL,
    cacheHints: {
      'server/discover': NO_CACHE,
      'tools/list': LIST_CACHE,
      'prompts/list': LIST_CACHE,
    },
  });
  // The SDK would answer this by itself, and the server never hear of it.
  server.removeRequestHandler('logging/setLevel');
  server.fallbackRequestHandler = (message, ctx) => told(() => answer(request, message, ctx));
  return server;
}

function answer(request: GatewayRequest, message: JSONRPCRequest, ctx: ServerContext): Promise<Result> {
  switch (message.method) {
    case 'tools/list':
      return listTools(request);
    case 'tools/call':
      return callShown(request, message.params ?? {}, ctx);
    case 'prompts/list':
      return listRidingPrompts(request, message, ctx);
    case 'prompts/get':
      return getRidingPrompt(request, message, ctx);
    default:
      return forwardMethod(request, message, ctx);
  }
}

async function listTools(request: GatewayRequest): Promise<Result> {
  const list = await listShownTools(request);
  return request.apart?.take(list) ?? { ...list, tools: [...list.tools] };
}

/** A call comes with the name that clients take. */
async function callShown(
  request: GatewayRequest,
  params: Record<string, unknown>,
  ctx: ServerContext,
): Promise<Result> {
  const { session } = request;
  const { name } = params;
  if (typeof name !== 'string') return forwardCall(request, params, ctx);
  const shown = await shownName(session.shown(await session.known()), name);
  return forwardCall(request, { ...params, name: shown }, ctx);
}

/** What a server may not have said by itself: nothing here tells of changes, for nothing outlives a request. */
function offered({ tools: _, prompts: __, resources, ...rest }: ServerCapabilities): ServerCapabilities {
  return {
    ...rest,
    tools: { listChanged: false },
    prompts: { listChanged: false },
    ...(resources ? { resources: { ...resources, subscribe: false, listChanged: false } } : {}),
  };
}

/** The channels of riding.md 7.1 between the pointer and the block. A server that is down is no reason to say nothing. */
async function handshake({ session, caller }: GatewayRequest): Promise<{
  instructions: string;
  facts: Facts | null;
}> {
  const { ctx, manifest, upstream } = session;
  const facts = await unlessDown(upstream.facts(session.deadline()));
  const listed = await unlessDown(session.known());
  const shown = session.shown(listed ?? { tools: [] });
  const channels = {
    banner: await session.banner(shown),
    upstream: facts?.instructions,
    operator: manifest.instructions,
  };
  const before = composeInstructions(channels).length + 2;
  const cap = Math.max(0, listingCap(caller.client, 'instructions') - before);
  const told = session.listing(caller) ?? (await readListing(ctx, caller));
  const listing = composeListing({ ...told, cap: Math.max(cap, POINTER.length), channel: 'instructions' });
  const points = listing.startsWith(POINTER);
  return {
    facts,
    instructions: composeInstructions({
      ...channels,
      pointer: points ? POINTER : '',
      listing: points ? listing.slice(POINTER.length).trimStart() : listing,
    }),
  };
}

/** What went wrong, as the protocol says it: the server's own errors as they are, ours by their sentence. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError(ProtocolErrorCode.InternalError, refusalOf(error).message);
  }
}
