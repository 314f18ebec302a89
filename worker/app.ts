import { Hono } from 'hono';
import { RegistryError } from '../schema/errors.ts';
import { api } from './api/api.ts';
import { methodNotAllowed, problem } from './api/problem.ts';
import { requireLoopback } from './auth/loopback.ts';
import { oauth } from './auth/oauth-routes.ts';
import { auth } from './auth/routes.ts';
import { signIn } from './auth/sign-in-routes.ts';
import { assets } from './dashboard/assets.ts';
import { asksForPage, pages, showError } from './dashboard/pages.tsx';
import type { AppEnv, Deps } from './deps.ts';
import { connecting } from './gateway/connect-routes.ts';
import { gateway } from './gateway/route.ts';
import { mcp } from './mcp/route.ts';
import { takeUnread } from './size-limit.ts';

/** Everything that the registry answers to, from what it is given: no part of it looks at the platform. */
export function createApp(deps: Deps): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.onError((error, c) => problem(error, c.req.raw));
  app.notFound((c) => {
    const error = new RegistryError(
      'not_found',
      'There is nothing at this address; the API is under /api/v1, MCP at /mcp.',
    );
    // What comes to the wrong MCP address is a program, whatever it says that it takes.
    const isProgram = c.req.path.startsWith('/mcp/') || !asksForPage(c);
    return isProgram ? problem(error, c.req.raw) : showError(c, error);
  });

  app.use(takeUnread);
  app.use(async (c, next) => {
    c.set('deps', deps);
    await next();
    c.header('x-content-type-options', 'nosniff');
    // With a fresh nonce on every answer a device signs each request right the first time (RFC 9449 section 8.2).
    if (c.req.raw.headers.has('dpop')) c.header('dpop-nonce', await deps.nonces.make());
  });
  if (deps.loopbackOnly) {
    app.use(async (c, next) => {
      requireLoopback(c.req.raw);
      await next();
    });
  }

  app.route('/api/v1', api);
  app.route('/auth', auth);
  app.route('/auth', signIn);
  app.route('/mcp', mcp);
  app.route('/mcp', gateway);
  app.route('/', connecting);
  app.route('/', oauth);
  app.route('/assets', assets);
  app.route('/', pages);
  app.get('/health', (c) => c.json({ status: 'ok' }));
  answerOtherMethods(app);
  return app;
}

function answerOtherMethods(app: Hono<AppEnv>): void {
  const routes = app.routes.filter(({ method }) => method !== 'ALL');
  for (const [path, handled] of Map.groupBy(routes, (route) => route.path)) {
    const methods = new Set(handled.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
    app.all(path, (c) => methodNotAllowed(c.req.method, [...methods]));
  }
}
