import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { getPrompt, listPrompts } from '../../schema/riding/prompts.ts';
import { forwardMethod } from './forward.ts';
import type { GatewayRequest } from './request.ts';
import { isDown, unlessDown } from './upstream-error.ts';

const MOST_PAGES = 20;

/**
 * `prompts/list`: the active skills on the first page, before the server's own prompts; its names win over theirs. A
 * server that does not answer takes its own prompts along, and no more.
 */
export async function listRidingPrompts(
  request: GatewayRequest,
  message: JSONRPCRequest,
  ctx: ServerContext,
): Promise<Result> {
  const isFirst = message.params?.cursor === undefined;
  const own = await listOwn(request, message, ctx).catch((error: unknown): Result => {
    if (isFirst && isDown(error)) return { prompts: [] };
    throw error;
  });
  const prompts = Array.isArray(own.prompts) ? own.prompts : [];
  if (!isFirst) return own;
  const names = new Set(prompts.map((prompt: { name?: unknown }) => prompt?.name));
  const riding = listPrompts(await active(request)).filter(({ name }) => !names.has(name));
  return { ...own, prompts: [...riding, ...prompts] };
}

/** `prompts/get`: the server's own prompts, then the active skills. */
export async function getRidingPrompt(
  request: GatewayRequest,
  message: JSONRPCRequest,
  ctx: ServerContext,
): Promise<Result> {
  const { name } = (message.params ?? {}) as { name?: unknown };
  if (typeof name !== 'string')
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'A prompt has a name.');
  const answer = getPrompt(await active(request), name);
  const ours = !('error' in answer);
  try {
    if ((await hasPrompts(request)) && (!ours || (await namesOwn(request, name, ctx))))
      return await forwardMethod(request, message, ctx);
  } catch (error) {
    if (ours ? !isDown(error) : !isUnknown(error) || (await namesOwn(request, name, ctx))) throw error;
  }
  // What neither has is told by what rides here.
  if ('error' in answer) throw new ProtocolError(answer.error.code, answer.error.message);
  return { ...answer };
}

function isUnknown(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === ProtocolErrorCode.InvalidParams;
}

async function listOwn(
  request: GatewayRequest,
  message: JSONRPCRequest,
  ctx: ServerContext,
): Promise<Result> {
  return (await hasPrompts(request)) ? forwardMethod(request, message, ctx) : { prompts: [] };
}

async function hasPrompts({ session }: GatewayRequest): Promise<boolean> {
  return (await session.upstream.facts(session.deadline())).capabilities.prompts !== undefined;
}

/** Of a server whose tools were never seen, those are active that need none of them. */
async function active({ session }: GatewayRequest) {
  const known = await unlessDown(session.known());
  return (await session.riding(session.shown(known ?? { tools: [] }))).active;
}

async function namesOwn(request: GatewayRequest, name: string, ctx: ServerContext): Promise<boolean> {
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const message = { jsonrpc: '2.0' as const, id: 0, method: 'prompts/list', params };
    const { prompts, nextCursor } = await forwardMethod(request, message, ctx);
    if (Array.isArray(prompts) && prompts.some((prompt: { name?: unknown }) => prompt?.name === name))
      return true;
    if (typeof nextCursor !== 'string') return false;
    cursor = nextCursor;
  }
  return false;
}
