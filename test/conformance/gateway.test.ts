import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../worker/gateway/harness.ts';
import { type RunningUpstream, startEverything } from '../worker/gateway/upstreams.ts';
import { openBearerProxy } from './bearer-proxy.ts';
import { type Check, runConformance } from './program.ts';

/** What server-everything shows by itself; the other scenarios need the tools of a test server. */
const SHOWN = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'logging-set-level',
];

/** Asks nothing of a server without sessions, and the gateway keeps none towards its clients; in the newer revision it asks. */
const SESSIONS = 'server-sse-multiple-streams';

let gateway: TestGateway;
let everything: RunningUpstream;
let proxy: Awaited<ReturnType<typeof openBearerProxy>>;

beforeAll(async () => {
  [gateway, everything] = await Promise.all([startGateway(), startEverything()]);
  proxy = await openBearerProxy(gateway.local.url, gateway.local.ownerToken ?? '');
  await gateway.addServer('everything', everything.url, { manifest: 'skills: true\n' });
});

afterAll(async () => {
  await proxy?.close();
  await gateway?.stop();
  await everything?.stop();
});

const passes = (checks: readonly Check[] = []) =>
  checks.some(({ status }) => status === 'SUCCESS') &&
  checks.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING');

test('what passes on server-everything directly passes through the gateway too', async () => {
  const flags = ['--requirements', '2025-11-25'];
  const direct = await runConformance(everything.url, join(gateway.folder, 'direct'), ...flags);
  const through = await runConformance(
    `${proxy.url}/mcp/everything`,
    join(gateway.folder, 'through'),
    ...flags,
  );
  const passed = [...direct].filter(([, checks]) => passes(checks)).map(([scenario]) => scenario);
  expect(passed).toEqual(expect.arrayContaining(SHOWN));
  const lost = passed.filter((scenario) => scenario !== SESSIONS && !passes(through.get(scenario)));
  expect(
    lost.map((scenario) => [
      scenario,
      (through.get(scenario) ?? [])
        .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
        .map(({ id, errorMessage }) => `${id}: ${errorMessage}`),
    ]),
  ).toEqual([]);
  expect(through.get(SESSIONS)?.map(({ id, status }) => [id, status])).toEqual([
    ['server-sse-multiple-streams-session', 'WARNING'],
  ]);
  const newer = ['--scenario', SESSIONS, '--spec-version', '2026-07-28'];
  const asked = await runConformance(`${proxy.url}/mcp/everything`, join(gateway.folder, 'newer'), ...newer);
  expect(passes(asked.get(SESSIONS))).toBe(true);
}, 420_000);
