import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The OAuth library imports a base class of the platform; nothing in Node makes use of it.
  resolve: {
    alias: { 'cloudflare:workers': fileURLToPath(new URL('test/cloudflare-workers.ts', import.meta.url)) },
  },
  test: {
    include: ['test/**/*.test.ts'],
    server: { deps: { inline: ['@cloudflare/workers-oauth-provider'] } },
    // Much of a test is waiting for processes and sockets; one file at a time would leave two cores idle.
    maxWorkers: 3,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
