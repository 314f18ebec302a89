import { Hono } from 'hono';
import { RegistryError } from '../../schema/errors.ts';
import { authenticate } from '../auth/authenticate.ts';
import { type AppEnv, surroundings } from '../deps.ts';
import { Context } from '../registry/context.ts';
import { noteTwoMachines } from '../registry/two-machines.ts';

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
  const claim = await authenticate(c.req.raw, deps);
  const ctx = new Context(surroundings(c), claim);
  const { id: device, accountId } = await ctx.enter();
  if (claim.type !== 'device')
    throw new RegistryError(
      'insufficient_scope',
      'Only a paired device is rung; use its token with its proof.',
    );
  const since = deps.now();
  const newer = {
    device,
    thumbprint: claim.proof.thumbprint,
    expiresAt: since + SOCKET_LIFE_MS,
    place: deps.place(c.req.raw),
    since,
  };
  const response = await deps.push.connect(accountId, newer);
  ctx.defer(
    deps.push.contested(accountId, device).then(async (older) => {
      if (older) await noteTwoMachines(ctx, older, newer);
    }),
  );
  return response;
});
