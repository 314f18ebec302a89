import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../worker/db/client.ts';
import { startLocal } from '../../../worker/local/serve.ts';
import { bootstrapAccount } from '../../../worker/registry/bootstrap.ts';
import { newSecret } from '../../../worker/registry/random.ts';
import { ROOT } from '../push/harness.ts';
import { challengeOf } from './oauth-harness.ts';
import { signedIn } from './signed-in.ts';

const ID = 'https://client.example/oauth/client.json';
const REDIRECT = 'http://localhost/callback';
const DOCUMENT = { client_id: ID, client_name: 'A client', redirect_uris: [REDIRECT] };

/** The real thing in workerd, whose network is a function, and a browser that is signed in. */
async function run(network: (request: Request) => Response) {
  const data = await mkdtemp(join(tmpdir(), 'repertoire-oauth-'));
  let cookie = '';
  const local = await startLocal({
    port: 0,
    data,
    network: async (request) => network(request),
    bootstrap: async (...[client, keep]: Parameters<typeof bootstrapAccount>) => {
      await bootstrapAccount(client, keep);
      const person = await signedIn({ db: openDatabase(client), clock: { now: Date.now() } });
      cookie = person.headers.cookie;
    },
  });
  onTestFinished(async () => {
    await local.stop();
    await rm(data, { recursive: true, force: true });
  });
  const origin = `http://localhost:${new URL(local.url).port}`;
  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(origin + path, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual', headers });
  const ask = async (verifier: string) => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: ID,
      redirect_uri: REDIRECT,
      state: 's',
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
    });
    return fetch(`${origin}/authorize?${query}`, { headers: { cookie }, redirect: 'manual' });
  };
  return { origin, post, ask, cookie: () => cookie };
}

test('in workerd a client is known by its document, and parallel refreshes get one answer', async () => {
  const asked: string[] = [];
  const { origin, post, ask, cookie } = await run((request) => {
    asked.push(`${request.method} ${request.url}`);
    return Response.json(DOCUMENT);
  });
  const verifier = newSecret();
  const page = await ask(verifier);
  const text = await page.text();
  expect(page.status).toBe(200);
  expect(asked).toEqual([`GET ${ID}`]);
  const handle = /name="handle" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const [binding = ''] = page.headers.getSetCookie();
  expect(binding).toMatch(
    /^oauth-consent-[0-9a-f]+=[0-9a-f]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
  );

  const answered = await post(
    '/authorize',
    { handle, decision: 'allow' },
    { origin, cookie: `${cookie()}; ${binding.split(';')[0]}` },
  );
  const back = new URL(answered.headers.get('location') ?? '');
  expect([answered.status, back.origin, back.searchParams.get('iss')]).toEqual([
    302,
    'http://localhost',
    origin,
  ]);
  const code = back.searchParams.get('code') ?? '';
  const redeemed = await post('/token', {
    grant_type: 'authorization_code',
    client_id: ID,
    code,
    code_verifier: verifier,
  });
  const tokens = (await redeemed.json()) as { access_token: string; refresh_token: string };
  expect(redeemed.status).toBe(200);

  const refresh = { grant_type: 'refresh_token', client_id: ID, refresh_token: tokens.refresh_token };
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const answer = await post('/token', refresh);
      return [answer.status, await answer.text()].join(' ');
    }),
  );
  expect([...new Set(answers)]).toHaveLength(1);
  const { access_token } = JSON.parse((answers[0] as string).replace(/^200 /, ''));

  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const listed = await fetch(`${origin}/mcp`, {
    method: 'POST',
    body: JSON.stringify(list),
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
  });
  expect(listed.status).toBe(200);
  expect(await listed.text()).toContain('skill_edit');
});

test('check 10: in workerd a redirect is not followed', async () => {
  const asked: string[] = [];
  const { ask } = await run((request) => {
    asked.push(request.url);
    return request.url === ID
      ? Response.redirect('https://evil.example/client.json', 301)
      : Response.json(DOCUMENT);
  });
  const page = await ask(newSecret());
  expect(page.status).toBe(400);
  expect(await page.text()).toContain('answers 301');
  expect(asked).toEqual([ID]);
});

/** Fetches what it is told to, as the Worker fetches a client's document. */
const FETCHES = `
import worker from '${ROOT}worker/index.ts';
export { Doorbell } from '${ROOT}worker/index.ts';

export default {
  fetch(request, env, ctx) {
    const url = new URL(request.url).searchParams.get('fetch');
    if (url === null) return worker.fetch(request, env, ctx);
    return fetch(url, { redirect: 'manual' }).catch(() => new Response(null, { status: 502 }));
  },
};
`;

test('check 10: in workerd the address counts that a name leads to, so that no name of this machine is reached', {
  timeout: 300_000,
}, async () => {
  let visits = 0;
  const here = createServer((_, response) => {
    visits++;
    response.end('{}');
  });
  await once(here.listen(0), 'listening');
  const { port } = here.address() as AddressInfo;
  onTestFinished(() => void here.close());
  /** What comes of fetching from each of these hosts. */
  const visit = async (allowLoopback: boolean, ...hosts: string[]): Promise<number[]> => {
    const data = await mkdtemp(join(tmpdir(), 'repertoire-names-'));
    await writeFile(join(data, 'entry.ts'), FETCHES);
    const local = await startLocal({ port: 0, data, entry: join(data, 'entry.ts'), allowLoopback });
    try {
      const urls = hosts.map((host) => encodeURIComponent(`http://${host}:${port}/client.json`));
      const answers = urls.map((url) => fetch(`${local.url}/?fetch=${url}`));
      return (await Promise.all(answers)).map(({ status }) => status);
    } finally {
      await local.stop();
      await rm(data, { recursive: true, force: true });
    }
  };
  expect(await visit(false, 'localhost', hostname(), '127.0.0.1', '[::1]')).not.toContain(200);
  expect(visits).toBe(0);
  expect([await visit(true, 'localhost'), visits]).toEqual([[200], 1]);

  const deployed = parse(readFileSync(`${ROOT}wrangler.toml`, 'utf8')) as { compatibility_flags: string[] };
  expect(deployed.compatibility_flags).toContain('global_fetch_strictly_public');
});
