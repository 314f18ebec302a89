import type { ServerSession } from '../gateway/session.ts';
import type { Context } from '../registry/context.ts';
import type { Caller } from './caller.ts';
import type { Refusals } from './errors.ts';

/** What the handlers of one request work with. */
export interface Session {
  readonly ctx: Context;
  readonly caller: Caller;
  readonly refusals: Refusals;
  /** The servers that the account has switched into the main list. */
  readonly servers: () => Promise<ServerSession[]>;
  /** Parameters of a tool that the caller repeats in headers. */
  readonly mirrored: Readonly<Record<string, string>>;
}
