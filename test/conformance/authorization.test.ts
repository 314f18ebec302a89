import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { browserTests } from '../browser/harness.ts';
import { AUTHORIZATION } from './expected.ts';
import { judge, PROGRAM, readChecks } from './program.ts';

const { site, test } = await browserTests();

test('the authorization server passes its scenarios, its page answered in a browser', async () => {
  const { page } = await site.member();
  const output = await mkdtemp(join(tmpdir(), 'conformance-authorization-'));
  const port = await freePort();
  const callback = `http://127.0.0.1:${port}/callback`;
  const program = spawn(
    process.execPath,
    [
      ...[PROGRAM, 'authorization', '--url', site.url, '--client-id', await register(callback)],
      ...['--resource', `${site.url}/mcp`, '-p', String(port), '-o', output],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(program, 'exit');
  try {
    await page.goto(await authorizationUrl(program.stdout));
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    // The program's own listener answers.
    await page.getByText('You can close this page.').waitFor();
    expect(await ended).toEqual([0, null]);
    const scenarios = await readChecks(output, 'authorization-server');
    expect([...scenarios.keys()].sort()).toEqual(Object.keys(AUTHORIZATION).sort());
    for (const [scenario, expected] of Object.entries(AUTHORIZATION))
      judge(scenarios.get(scenario), expected);
  } finally {
    program.kill();
    await rm(output, { recursive: true });
  }
});

/** The address that the program asks its user to open. */
async function authorizationUrl(printed: NodeJS.ReadableStream): Promise<string> {
  const lines: string[] = [];
  for await (const line of createInterface(printed)) {
    if (line.startsWith(`${site.url}/authorize?`)) {
      printed.resume();
      return line;
    }
    lines.push(line);
  }
  throw new Error(`The program ended without asking for its user: ${lines.join('\n')}`);
}

async function register(callback: string): Promise<string> {
  const answer = await fetch(`${site.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = (await answer.json()) as { client_id: string };
  return client_id;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
