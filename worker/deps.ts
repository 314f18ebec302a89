import type { Context as Call } from 'hono';
import { authenticate } from './auth/authenticate.ts';
import { verifyProof } from './auth/dpop.ts';
import type { Nonces } from './auth/nonce.ts';
import { sessionClaim } from './auth/session.ts';
import type { SignIn } from './auth/sign-in.ts';
import type { Assets } from './dashboard/assets.ts';
import type { Database } from './db/client.ts';
import type { PlatformFetch } from './gateway/outbound.ts';
import { logged } from './log.ts';
import type { Push } from './push/push.ts';
import { Context, type Surroundings } from './registry/context.ts';
import type { Proof } from './registry/proof.ts';
import type { ServerSurroundings } from './registry/servers.ts';

/** What the Worker's rooms are given: by `index.ts` in workerd, by a test in Node. */
export interface Deps {
  readonly db: Database;
  readonly now: () => number;
  readonly push: Push;
  readonly nonces: Nonces;
  /** What pages load. */
  readonly assets: Assets;
  /** Who else than a passkey lets people in. */
  readonly signIn: SignIn;
  /** Reaches hosts elsewhere: public addresses only, which the platform sees to. */
  readonly outbound: PlatformFetch;
  /** Where a request comes from, in words for the person who lets a device in. */
  readonly place: (request: Request) => string;
  /** What the credentials of other MCP servers are kept in, and which of them may be called. */
  readonly servers: ServerSurroundings;
  /** Runs on a person's own machine: whatever comes from elsewhere is refused. */
  readonly loopbackOnly: boolean;
}

export interface AppEnv {
  Variables: { deps: Deps };
}

/**
 * The verbs' context for a request, by its credentials, or by the session of a browser that sends none. The database
 * confirms them with the verb's first query.
 */
export async function callerOf(c: Call<AppEnv>): Promise<Context> {
  const session = await sessionClaim(c.req.raw);
  return session ? new Context(surroundings(c), session) : programOf(c);
}

/** As {@link callerOf}, where no browser's cookie opens the door. */
export async function programOf(c: Call<AppEnv>): Promise<Context> {
  return new Context(surroundings(c), await authenticate(c.req.raw, c.var.deps));
}

/** The device key that signed a request which carries no token yet. */
export function proofOf(c: Call<AppEnv>): Promise<Proof> {
  return verifyProof(c.req.raw, c.var.deps.nonces, null);
}

/** For verbs without a caller. */
export function surroundings(c: Call<AppEnv>): Surroundings {
  const { db, now, push } = c.var.deps;
  return {
    db,
    now,
    notify: push.notify,
    // Nobody waits for it, so its failure is told to the log, by the log's rules.
    defer: (work) => c.executionCtx.waitUntil(work.catch(logged)),
  };
}
