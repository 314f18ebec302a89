import { createClient } from '@libsql/client/web';
import { RegistryError } from '../schema/errors.ts';
import { placeOf } from './api/place.ts';
import { problem } from './api/problem.ts';
import { createApp } from './app.ts';
import { assets } from './assets.ts';
import { createNonces } from './auth/nonce.ts';
import { signInOf } from './auth/sign-in.ts';
import { openDatabase } from './db/client.ts';
import type { Deps } from './deps.ts';
import type { Env } from './env.ts';
import { createPush } from './push/push.ts';
import { purgeOAuth } from './registry/oauth-purge.ts';
import { createVault } from './registry/vault.ts';

export { Doorbell } from './push/doorbell.ts';

const SECRET_LENGTH = 32;

let deps: Deps | null = null;
let app: ReturnType<typeof createApp> | null = null;

export default {
  async fetch(request, env, ctx) {
    try {
      deps ??= open(env);
      app ??= createApp(deps);
    } catch (error) {
      return problem(error, request);
    }
    return app.fetch(request, undefined, ctx);
  },
  async scheduled(_, env) {
    deps ??= open(env);
    await purgeOAuth(deps.db, deps.now());
  },
} satisfies ExportedHandler<Env>;

function open(env: Env): Deps {
  const { SECRET_KEY = '', LIBSQL, NETWORK, DOORBELL } = env;
  if (SECRET_KEY.length < SECRET_LENGTH) {
    throw new RegistryError(
      'unavailable',
      `The Worker's secret SECRET_KEY is missing or shorter than ${SECRET_LENGTH} characters; set it with "wrangler secret put SECRET_KEY".`,
    );
  }
  const now = () => Date.now();
  return {
    db: openDatabase(createClient(databaseConfig(env))),
    now,
    push: createPush(DOORBELL),
    nonces: createNonces(SECRET_KEY, now),
    assets,
    // The platform's fetch insists on being called by itself.
    signIn: signInOf(env, (url, init) => fetch(url, init)),
    outbound: (url, init) => (NETWORK ?? globalThis).fetch(url, init),
    place: LIBSQL ? () => 'this computer' : placeOf,
    servers: { vault: createVault(SECRET_KEY), loopback: env.LOOPBACK_SERVERS === '1' },
    loopbackOnly: LIBSQL !== undefined,
  };
}

function databaseConfig({
  LIBSQL,
  DATABASE_URL,
  DATABASE_AUTH_TOKEN,
}: Env): Parameters<typeof createClient>[0] {
  // The client is shared by the requests of an isolate. Its queue for more than 20 calls at once would start one
  // request's call in another's context, where workerd forbids it: so there is no queue.
  const concurrency = Number.POSITIVE_INFINITY;
  if (LIBSQL) return { url: 'http://libsql', fetch: LIBSQL.fetch.bind(LIBSQL), concurrency };
  if (!DATABASE_URL) {
    throw new RegistryError(
      'unavailable',
      'The Worker does not know its database; set it with "wrangler secret put DATABASE_URL".',
    );
  }
  return {
    url: DATABASE_URL,
    concurrency,
    ...(DATABASE_AUTH_TOKEN === undefined ? {} : { authToken: DATABASE_AUTH_TOKEN }),
  };
}
