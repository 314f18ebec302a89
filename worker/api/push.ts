import { Hono } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { authenticate } from '../auth/authenticate.ts';
import { type AppEnv, surroundings } from '../deps.ts';
import { Context } from '../registry/context.ts';

/** How long a socket lives before its device must prove its key again. */
const SOCKET_LIFE_MS = 60 * 60_000;

/**
 * The doorbell's socket, under `/push`: WebSocket upgrade by a device → 101, then messages of `schema/push.ts`. The
 * proof's `htu` is the https or http URL. Errors: `invalid_input` without an upgrade, `insufficient_scope` for others.
 */
export const push = new Hono<AppEnv>();

push.get('/', async (c) => {
  if (c.req.header('upgrade')?.toLowerCase() !== 'websocket')
    throw new RegistryError('invalid_input', 'This address is a WebSocket; connect to it with an upgrade.');
  const { deps } = c.var;
  const claim = await authenticate(c.req.raw, deps.nonces);
  const actor = await new Context(surroundings(c), claim).enter();
  if (claim.type !== 'device')
    throw new RegistryError(
      'insufficient_scope',
      'Only a paired device is rung; use its token with its proof.',
    );
  return deps.push.connect(actor.accountId, {
    device: actor.id,
    thumbprint: claim.proof.thumbprint,
    expiresAt: deps.now() + SOCKET_LIFE_MS,
  });
});
