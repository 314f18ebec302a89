import {
  createMcpHandler,
  localhostAllowedHostnames,
  preloadSchemas,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { type Context as Call, Hono } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { noteClient } from '../registry/clients-seen.ts';
import { sizeLimit } from '../size-limit.ts';
import { readCaller } from './caller.ts';
import { Refusals } from './errors.ts';
import { buildServer } from './server.ts';

preloadSchemas();

/** Methods by which a client shows that it is there: since 2026-07-28 it may begin with any of them. */
const OPENING: readonly string[] = ['initialize', 'server/discover', 'tools/list'];

/**
 * MCP over streamable HTTP, without sessions, in every revision at once. The credentials are looked up with the request's
 * first query, so whatever the SDK answered leaves only once they hold: a bad token gets 401 in any case.
 */
export const mcp = new Hono<AppEnv>();

mcp.use(
  sizeLimit(
    'The message has more than 3 MiB; write larger items over the API or with the repertoire command.',
  ),
);

mcp.all('/', async (c) => {
  requireOwnOrigin(c.req.raw);
  const ctx = await callerOf(c);
  const body = c.req.method === 'POST' ? await readJson(c) : { value: undefined };
  if (!body) {
    await ctx.enter();
    return c.json(PARSE_ERROR, 400);
  }
  const messages: readonly unknown[] = Array.isArray(body.value) ? body.value : [body.value];
  const methods = messages.flatMap(methodOf);
  const caller = readCaller(c.req.raw, messages, {
    withProof: ctx.device !== null,
    clientId: ctx.clientId,
  });
  const refusals = new Refusals();
  ctx.client = caller.name;
  // The handlers of a batch run side by side, and the credentials are to be looked up once.
  if (messages.length > 1) await ctx.enter();

  const handler = createMcpHandler(() => buildServer({ ctx, caller, refusals }, methods), { keepAliveMs: 0 });
  const answer = await finished(await handler.fetch(c.req.raw, { parsedBody: body.value }));
  refusals.raise();
  await ctx.enter();
  const { name, version } = caller;
  if (name !== undefined && methods.some((method) => OPENING.includes(method)))
    ctx.defer(noteClient(ctx, { name, version }));
  return answer;
});

/** A browser sends the origin of the page that calls: only the registry's own and local tools' pages may. */
function requireOwnOrigin(request: Request): void {
  const own = [new URL(request.url).hostname, ...localhostAllowedHostnames()];
  if (validateOriginHeader(request.headers.get('origin'), own).ok) return;
  throw new RegistryError(
    'access_denied',
    'MCP requests of web pages elsewhere are refused; connect from an MCP client.',
  );
}

const PARSE_ERROR = {
  jsonrpc: '2.0',
  error: { code: -32700, message: 'Parse error: the body is no JSON text in UTF-8.' },
  id: null,
} as const;

async function readJson(c: Call<AppEnv>): Promise<{ value: unknown } | null> {
  const bytes = await c.req.arrayBuffer();
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)) };
  } catch {
    return null;
  }
}

function methodOf(message: unknown): string[] {
  const { method } = (message ?? {}) as { method?: unknown };
  return typeof method === 'string' ? [method] : [];
}

/** Every answer here ends by itself; read whole, its handlers are done and what refused them is known. */
async function finished(response: Response): Promise<Response> {
  return response.body === null ? response : new Response(await response.arrayBuffer(), response);
}
