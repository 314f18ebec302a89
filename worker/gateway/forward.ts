import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { RegistryError } from '../../schema/errors.ts';
import { isBareCall, prefixOverview } from '../../schema/riding/channels.ts';
import { mayChangeGraph } from '../../schema/riding/graph.ts';
import { paramHeaders } from '../../schema/riding/param-headers.ts';
import { refusedCall } from '../mcp/errors.ts';
import { whileHeld } from './held.ts';
import { callSkills } from './loader.ts';
import type { GatewayRequest } from './request.ts';
import type { ServerSession } from './session.ts';
import { LOADER } from './shown-tools.ts';
import type { Outcome } from './upstream.ts';

type Envelope = Readonly<Record<string, unknown>> | undefined;

/** A tool may work for long, but not for ever. */
const CALL_DEADLINE_MS = 10 * 60_000;

/** Methods that look something up, and how long that may take. */
const LOOK_UP = /^(completion|logging|prompts|resources)\//;
const LOOK_UP_DEADLINE_MS = 60_000;

/** Any method that is not ours: there and back as it is. */
export async function forwardMethod(
  request: GatewayRequest,
  { method, params }: JSONRPCRequest,
  ctx: ServerContext,
): Promise<Result> {
  return resultOf(await forward(request, method, params, ctx));
}

/** `tools/call`, the tool by the name shown: the loader is ours, everything else the server's under its own name. */
export async function forwardCall(
  request: GatewayRequest,
  params: Record<string, unknown>,
  ctx: ServerContext,
): Promise<Result> {
  const { session } = request;
  const { name, arguments: args } = params as { name?: unknown; arguments?: Record<string, unknown> };
  if (typeof name !== 'string') return resultOf(await forward(request, 'tools/call', params, ctx));
  if (name === LOADER) return callSkills(request, args ?? {});
  const own = await ownName(session, name);
  const tool = (await session.known()).tools.find((each) => each.name === own);
  const { graph } = session.manifest;
  const changes = graph !== null && mayChangeGraph(graph, tool ?? { name: own });
  let outcome: Outcome;
  try {
    const repeated = { ...repeat(tool?.inputSchema, args), ...request.mirrored };
    outcome = await forward({ ...request, mirrored: repeated }, 'tools/call', { ...params, name: own }, ctx);
  } catch (error) {
    if (error instanceof RegistryError) return refusedCall(error.message);
    throw error;
  } finally {
    if (changes) session.kept.probe?.changed();
  }
  const result = resultOf(outcome) as CallToolResult;
  if (name !== session.manifest.overviewTool || !isBareCall(args) || !Array.isArray(result.content))
    return result;
  const shown = session.shown(await session.known());
  return prefixOverview(result, {
    banner: await session.banner(shown),
    prefix: session.manifest.overviewPrefix,
  });
}

/**
 * The server's name for a tool. One that is not in the last list may be new, unless the manifest hides it or names all
 * there are, or the caller may call only what is known to change nothing.
 */
async function ownName(session: ServerSession, name: string): Promise<string> {
  const { manifest } = session;
  const { upstreamNames, served } = session.shown(await session.known());
  const own = upstreamNames.get(name);
  if (own !== undefined) return own;
  const isHidden =
    served.has(name) ||
    manifest.tools.some(({ tool, hidden, rename }) => tool === name && (hidden || rename !== null));
  if (isHidden || manifest.toolsAllow !== null || session.ctx.actor.readOnly)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool named ${name}.`);
  return name;
}

/** A server of revision 2026-07-28 wants some arguments in headers as well, and not every client sends them. */
function repeat(schema: unknown, args: unknown): Record<string, string> {
  const headers = Object.entries(paramHeaders(schema, args));
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

async function forward(
  { session, callerId, mirrored }: GatewayRequest,
  method: string,
  params: Record<string, unknown> | undefined,
  ctx: ServerContext,
): Promise<Outcome> {
  const { mcpReq } = ctx;
  const key = `${callerId} ${JSON.stringify(mcpReq.id)}`;
  const deadline = LOOK_UP.test(method) ? LOOK_UP_DEADLINE_MS : CALL_DEADLINE_MS;
  let sent: string | null = null;
  try {
    return await whileHeld(session.ctx, (ended) =>
      session.upstream.request(method, withRetry(params, ctx), {
        signal: AbortSignal.any([mcpReq.signal, ended, AbortSignal.timeout(deadline)]),
        capabilities: capabilitiesOf(ctx),
        headers: mirrored,
        // One that this caller's revision does not know, or that comes too late, is of no use to it.
        onNotification: (notification) => void mcpReq.notify(notification).catch(() => undefined),
        onSent: (id) => {
          sent = id;
          session.kept.underWay.set(key, (session.kept.underWay.get(key) ?? new Set()).add(id));
        },
      }),
    );
  } finally {
    const ids = session.kept.underWay.get(key);
    if (sent !== null) ids?.delete(sent);
    if (ids?.size === 0) session.kept.underWay.delete(key);
  }
}

/** Parts of a request that the SDK takes out before a handler sees it (revision 2026-07-28). */
function withRetry(params: Record<string, unknown> | undefined, { mcpReq }: ServerContext) {
  const state = mcpReq.requestState();
  const level = (mcpReq.envelope as Envelope)?.[LOG_LEVEL_META_KEY];
  const meta = params?._meta as Record<string, unknown> | undefined;
  return {
    ...params,
    ...(level === undefined ? {} : { _meta: { ...meta, [LOG_LEVEL_META_KEY]: level } }),
    ...(mcpReq.inputResponses === undefined ? {} : { inputResponses: mcpReq.inputResponses }),
    ...(state === undefined ? {} : { requestState: state }),
  };
}

/** Nothing can be asked of a client that keeps no session, save where an answer may ask for more. */
function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  return ((mcpReq.envelope as Envelope)?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities) ?? {};
}

/** What a result says of caching is for the account alone, whatever the server says of its own callers. */
function resultOf(outcome: Outcome): Result {
  if ('error' in outcome) {
    const { code, message, data } = outcome.error;
    throw ProtocolError.fromError(code, message, data);
  }
  const { resultType, cacheScope, ...result } = outcome.result;
  return {
    ...result,
    ...(resultType === 'input_required' ? { resultType } : {}),
    ...(cacheScope === undefined ? {} : { cacheScope: 'private' }),
  };
}
