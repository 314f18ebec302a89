import { Hono } from 'hono';
import { showError } from '../dashboard/pages.tsx';
import { type AppEnv, callerOf } from '../deps.ts';
import { finishConnect } from './connect.ts';
import { CALLBACK_PATH, CLIENT_PATH, clientMetadata } from './oauth-client.ts';

/** Where other servers' logins meet us: our metadata as their client, and the way back of the person who let us in. */
export const connecting = new Hono<AppEnv>().onError((error, c) => showError(c, error));

/** Client ID metadata document. */
connecting.get(CLIENT_PATH, (c) => {
  const { origin } = new URL(c.req.url);
  return c.json({ client_id: origin + CLIENT_PATH, ...clientMetadata(origin) });
});

/** → 302 to the account page, in the session that began it. */
connecting.get(CALLBACK_PATH, async (c) => {
  await finishConnect(await callerOf(c), c.var.deps, new URL(c.req.url).searchParams);
  return c.redirect('/account');
});
