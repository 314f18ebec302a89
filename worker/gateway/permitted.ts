import { methodOf, toolCalled } from '../mcp-door.ts';
import { findMainTool } from './main.ts';
import type { ServerSession } from './session.ts';
import { LOADER, onlyReads, shownName } from './shown-tools.ts';

/** Methods by which nothing changes, whatever the server. What is not known here may change anything. */
const READING: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'logging/setLevel',
  'completion/complete',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'subscriptions/listen',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tools/list',
]);

/**
 * A caller with `skills:read` alone may have a server do only what changes nothing: reading methods, and tools that the
 * server declares to be read-only. Everything else needs `skills:write`, for which a client can ask.
 * @throws RegistryError `insufficient_scope`
 */
export async function requireMay(session: ServerSession, messages: readonly unknown[]): Promise<void> {
  const { scopes, readOnly } = session.ctx.actor;
  if (scopes.includes('skills:write')) return;
  for (const message of messages) {
    const [method] = methodOf(message);
    if (method === undefined || READING.has(method) || method.startsWith('notifications/')) continue;
    const tool = toolCalled(message);
    // Who may only read sees no other tools, so that a call of one is a call of nothing.
    if (tool !== null && readOnly) continue;
    if (tool !== null && (await reads(session, await shownName(session.shown(await session.known()), tool))))
      continue;
    session.ctx.require('skills:write');
  }
}

/** The same for calls of servers' tools in the main list. */
export async function requireMayInMain(
  sessions: readonly ServerSession[],
  messages: readonly unknown[],
): Promise<void> {
  for (const message of messages) {
    const tool = toolCalled(message);
    const found = tool === null ? null : await findMainTool(sessions, tool);
    if (!found || found.session.ctx.actor.scopes.includes('skills:write')) continue;
    if (!(await reads(found.session, found.tool))) found.session.ctx.require('skills:write');
  }
}

/** Whether a tool, by the name shown, is the loader or is known to change nothing. */
async function reads(session: ServerSession, name: string): Promise<boolean> {
  const { tools } = session.shown(await session.known());
  const tool = tools.find((each) => each.name === name);
  return tool === undefined ? name === LOADER : onlyReads(tool);
}
