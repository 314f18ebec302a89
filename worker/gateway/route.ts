import { Hono } from 'hono';
import { listsInTool } from '../../schema/listing.ts';
import { type AppEnv, programOf } from '../deps.ts';
import { type Caller, readCaller } from '../mcp/caller.ts';
import { answerStreaming, answerWhole } from '../mcp-answer.ts';
import { HANDSHAKES, mirroredBy, PARSE_ERROR, readMessages, requireOwnOrigin } from '../mcp-door.ts';
import { cancelled } from './cancel.ts';
import { refuseLoop } from './loop.ts';
import { openSession } from './open.ts';
import { requireMay } from './permitted.ts';
import { buildGateway } from './server.ts';
import { ToolsApart } from './tools-apart.ts';

/**
 * Another MCP server at `/mcp/<server>`, in every revision at once and without sessions. Answers stream through as they
 * come. The credentials of the caller are looked up with the server, before anything is asked of it.
 */
export const gateway = new Hono<AppEnv>();

// The limit on the size of a message is that of `/mcp`, which holds for whatever is below.
gateway.all('/:server', async (c) => {
  requireOwnOrigin(c.req.raw);
  refuseLoop(c.req.raw);
  const ctx = await programOf(c);
  const read = await readMessages(c.req.raw);
  const name = c.req.param('server');
  if (!read) {
    await openSession(ctx, c.var.deps, name);
    return c.json(PARSE_ERROR, 400);
  }
  const { body, messages, methods } = read;
  const caller = readCaller(c.req.raw, messages, {
    withProof: ctx.device !== null,
    clientId: ctx.clientId,
  });
  ctx.client = caller.name;
  const tells = methods.some((method) => tellsItems(method, caller));
  const lists = messages.length === 1 && methods[0] === 'tools/list';
  const session = await openSession(ctx, c.var.deps, name, { tells, lists });
  await requireMay(session, messages);
  const callerId = ctx.actor.id;
  for (const work of cancelled(session, callerId, messages)) ctx.defer(work);
  const request = { session, caller, callerId, mirrored: mirroredBy(c.req.raw) };
  if (lists) {
    const apart = new ToolsApart();
    return apart.into(await answerWhole(() => buildGateway({ ...request, apart }, methods), c.req.raw, body));
  }
  return answerStreaming(() => buildGateway(request, methods), c.req.raw, body);
});

/** Whether the answer names the account's items, which are then read with the server. */
function tellsItems(method: string, { client }: Caller): boolean {
  return HANDSHAKES.includes(method) || (method === 'tools/list' && listsInTool(client));
}
