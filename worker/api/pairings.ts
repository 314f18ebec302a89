import { Hono } from 'hono';
import {
  type Paired,
  type Pairing,
  PairingBody,
  PairingPollBody,
  type PairingRequest,
} from '../../schema/api.ts';
import { type AppEnv, callerOf, proofOf, surroundings } from '../deps.ts';
import { approvePairing, denyPairing, showPairing } from '../registry/approval.ts';
import {
  MAX_WAIT_MS,
  PAIRING_LIFE_S,
  POLL_INTERVAL_S,
  pollPairing,
  startPairing,
} from '../registry/pairing.ts';
import { bodyOf } from './input.ts';

/**
 * Pairing a device, under `/pairings`: the shape of RFC 8628, where what the device gets in the end is no token but a
 * place for its key. The device signs each of its requests with that key (a DPoP proof without `ath`); the person's side
 * needs `devices:write`.
 */
export const pairings = new Hono<AppEnv>();

/** `PairingBody` and a proof by the new key → 201 `Pairing`. Errors: `rate_limited`. */
pairings.post('/', async (c) => {
  const proof = await proofOf(c);
  const { name, platform } = await bodyOf(c, PairingBody);
  const place = c.var.deps.place(c.req.raw);
  const { deviceCode, userCode } = await startPairing(surroundings(c), proof, { name, platform, place });
  const uri = `${new URL(c.req.url).origin}/pair`;
  const answer: Pairing = {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: uri,
    verification_uri_complete: `${uri}?code=${userCode}`,
    expires_in: PAIRING_LIFE_S,
    interval: POLL_INTERVAL_S,
  };
  return c.json(answer, 201);
});

/**
 * `PairingPollBody` and a proof by the same key → `Paired`, once. Errors: `authorization_pending`, `slow_down`,
 * `access_denied`, `expired_token` (RFC 8628 section 3.5). With `Prefer: wait=20` (RFC 7240 section 4.3) the answer comes
 * when a person has decided, or after so many seconds, 20 at most.
 */
pairings.post('/token', async (c) => {
  const proof = await proofOf(c);
  const { device_code } = await bodyOf(c, PairingPollBody);
  const answer: Paired = await pollPairing(surroundings(c), proof, device_code, preferredWait(c.req.raw));
  return c.json(answer);
});

/**
 * → `PairingRequest`; the first caller who opens a code claims it. Errors: `not_found`, `access_denied` for a code that
 * another caller of the account opened first; five wrong codes in ten minutes `rate_limited`.
 */
pairings.get('/:code', async (c) => {
  const answer: PairingRequest = await showPairing(await callerOf(c), c.req.param('code'));
  return c.json(answer);
});

/**
 * → `PairingRequest`. Errors: as above, `expired_token` when it was settled already, `access_denied` for a known key,
 * `passkey_required` for a session without a fresh one.
 */
pairings.post('/:code/approve', async (c) => {
  const answer: PairingRequest = await approvePairing(await callerOf(c), c.req.param('code'));
  return c.json(answer);
});

/** → `PairingRequest`. Errors: as for approving, but for the passkey. */
pairings.post('/:code/deny', async (c) => {
  const answer: PairingRequest = await denyPairing(await callerOf(c), c.req.param('code'));
  return c.json(answer);
});

function preferredWait({ headers }: Request): number {
  const [, seconds = '0'] = /(?:^|[,;]) *wait *= *"?(\d{1,4})\b/i.exec(headers.get('prefer') ?? '') ?? [];
  return Math.min(Number(seconds) * 1000, MAX_WAIT_MS);
}
