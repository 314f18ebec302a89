import { Hono } from 'hono';
import { requireOwnSite } from '../auth/session.ts';
import type { AppEnv } from '../deps.ts';
import { sizeLimit } from '../size-limit.ts';
import { applications } from './applications.ts';
import { blobs } from './blobs.ts';
import { changes } from './changes.ts';
import { clients } from './clients.ts';
import { devices } from './devices.ts';
import { events } from './events.ts';
import { guidelines } from './guidelines.ts';
import { identities } from './identities.ts';
import { invitations } from './invitations.ts';
import { items } from './items.ts';
import { pairings } from './pairings.ts';
import { passkeys } from './passkeys.ts';
import { push } from './push.ts';
import { recoveryCodes } from './recovery-codes.ts';
import { everything } from './revoke-all.ts';
import { servers } from './servers.ts';
import { sessions } from './sessions.ts';
import { tokens } from './tokens.ts';
import { whoami } from './whoami.ts';

/** The web API, under `/api/v1`. Larger items than one body carries are sent blob by blob and committed by digest. */
export const api = new Hono<AppEnv>()
  .use(
    sizeLimit(
      'The body has more than 3 MiB; send large files with PUT /api/v1/blobs/{digest} and name their digests.',
    ),
  )
  .use(async (c, next) => {
    requireOwnSite(c.req.raw);
    await next();
    if (!c.res.headers.has('cache-control') && c.res.status !== 101) c.header('cache-control', 'no-store');
  })
  .route('/items', items)
  .route('/changes', changes)
  .route('/blobs', blobs)
  .route('/guidelines', guidelines)
  .route('/devices', devices)
  .route('/pairings', pairings)
  .route('/clients', clients)
  .route('/servers', servers)
  .route('/identities', identities)
  .route('/passkeys', passkeys)
  .route('/recovery-codes', recoveryCodes)
  .route('/sessions', sessions)
  .route('/invitations', invitations)
  .route('/push', push)
  .route('/tokens', tokens)
  .route('/applications', applications)
  .route('/events', events)
  .route('/revoke-all', everything)
  .route('/whoami', whoami);
