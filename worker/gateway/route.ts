import { createMcpHandler } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { type AppEnv, programOf } from '../deps.ts';
import { readCaller } from '../mcp/caller.ts';
import { mirroredBy, PARSE_ERROR, readMessages, requireOwnOrigin } from '../mcp-door.ts';
import { cancelled } from './cancel.ts';
import { KEEP_ALIVE_MS } from './keep-alive.ts';
import { openSession } from './open.ts';
import { requireMay } from './permitted.ts';
import { buildGateway } from './server.ts';

/**
 * Another MCP server at `/mcp/<server>`, in every revision at once and without sessions. Answers stream through as they
 * come. The credentials of the caller are looked up with the server, before anything is asked of it.
 */
export const gateway = new Hono<AppEnv>();

// The limit on the size of a message is that of `/mcp`, which holds for whatever is below.
gateway.all('/:server', async (c) => {
  requireOwnOrigin(c.req.raw);
  const ctx = await programOf(c);
  const read = await readMessages(c.req.raw);
  const session = await openSession(ctx, c.var.deps, c.req.param('server'));
  if (!read) return c.json(PARSE_ERROR, 400);
  const { body, messages, methods } = read;
  await requireMay(session, messages);
  const caller = readCaller(c.req.raw, messages, {
    withProof: ctx.device !== null,
    clientId: ctx.clientId,
  });
  ctx.client = caller.name;
  const callerId = ctx.actor.id;
  for (const work of cancelled(session, callerId, messages)) ctx.defer(work);
  const request = { session, caller, callerId, mirrored: mirroredBy(c.req.raw) };
  const handler = createMcpHandler(() => buildGateway(request, methods), { keepAliveMs: KEEP_ALIVE_MS });
  return handler.fetch(c.req.raw, { parsedBody: body });
});
