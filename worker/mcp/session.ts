import type { Context } from '../registry/context.ts';
import type { Caller } from './caller.ts';
import type { Refusals } from './errors.ts';

/** What the handlers of one request work with. */
export interface Session {
  readonly ctx: Context;
  readonly caller: Caller;
  readonly refusals: Refusals;
}
