import { preloadSchemas } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { TOOLS } from '../../schema/tools.ts';
import { type AppEnv, programOf } from '../deps.ts';
import { cancelled } from '../gateway/cancel.ts';
import { cameThrough } from '../gateway/loop.ts';
import { openMainSessions } from '../gateway/main.ts';
import { requireMayInMain } from '../gateway/permitted.ts';
import type { ServerSession } from '../gateway/session.ts';
import { answerStreaming, answerWhole } from '../mcp-answer.ts';
import {
  HANDSHAKES,
  mirroredBy,
  PARSE_ERROR,
  readMessages,
  requireOwnOrigin,
  toolCalled,
} from '../mcp-door.ts';
import { noteClient } from '../registry/clients-seen.ts';
import { sizeLimit } from '../size-limit.ts';
import { readCaller } from './caller.ts';
import { Refusals } from './errors.ts';
import { buildServer } from './server.ts';

preloadSchemas();

/** Methods by which a client shows that it is there: since 2026-07-28 it may begin with any of them. */
const OPENING: readonly string[] = [...HANDSHAKES, 'tools/list'];

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
  const ctx = await programOf(c);
  const read = await readMessages(c.req.raw);
  if (!read) {
    await ctx.enter();
    return c.json(PARSE_ERROR, 400);
  }
  const { body, messages, methods } = read;
  const caller = readCaller(c.req.raw, messages, {
    withProof: ctx.device !== null,
    clientId: ctx.clientId,
  });
  const refusals = new Refusals();
  ctx.client = caller.name;
  // The handlers of a batch run side by side, and the credentials are to be looked up once.
  if (messages.length > 1) await ctx.enter();

  let opened: Promise<ServerSession[]> | null = null;
  const servers = () => {
    opened ??= cameThrough(c.req.raw) ? ctx.enter().then(() => []) : openMainSessions(ctx, c.var.deps);
    return opened;
  };
  if (methods.includes('notifications/cancelled')) {
    for (const session of await servers())
      for (const work of cancelled(session, ctx.actor.id, messages)) ctx.defer(work);
  }
  const session = { ctx, caller, refusals, servers, mirrored: mirroredBy(c.req.raw) };
  // A server's answer streams through as it comes, so the caller has to be known before.
  const streams = messages.some(callsServer);
  if (streams) await requireMayInMain(await servers(), messages);
  const build = () => buildServer(session, methods);
  let answer: Response;
  try {
    answer = streams
      ? await answerStreaming(build, c.req.raw, body)
      : await answerWhole(build, c.req.raw, body);
  } finally {
    refusals.raise();
  }
  await ctx.enter();
  const { name, version } = caller;
  if (name !== undefined && methods.some((method) => OPENING.includes(method)))
    ctx.defer(noteClient(ctx, { name, version }));
  return answer;
});

/** Whether a message calls a tool that is none of ours. */
function callsServer(message: unknown): boolean {
  const tool = toolCalled(message);
  return tool !== null && !Object.hasOwn(TOOLS, tool);
}
