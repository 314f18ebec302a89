import type { Caller } from '../mcp/caller.ts';
import type { ServerSession } from './session.ts';
import type { ToolsApart } from './tools-apart.ts';

/** What the handlers of one request work with. */
export interface GatewayRequest {
  readonly session: ServerSession;
  readonly caller: Caller;
  /** Takes a list of tools that is all that is asked for. */
  readonly apart?: ToolsApart | null;
  /** Who calls, to tell one caller's requests from another's. */
  readonly callerId: string;
  /** `Mcp-Param-*`, as the caller sent them. */
  readonly mirrored: Readonly<Record<string, string>>;
}
