import { hash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createDeviceKey, readDeviceKey } from '../../agent/device-key.ts';
import { Http, Unpaired } from '../../agent/http.ts';
import { freshFolder } from './registry.ts';

interface Got {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** A server that answers as the test says, on a port of its own. */
async function serve(answer: (got: Got, response: ServerResponse) => void) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers };
    got.push(one);
    answer(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, detail: string, challenge = 'DPoP', nonce?: string) {
  const details = nonce === undefined ? {} : { details: { nonce } };
  const body = { type: 'x', title: 'x', status: 401, detail, code: 'unauthorized', ...details };
  json(response, 401, body, { 'www-authenticate': challenge, ...(nonce ? { 'dpop-nonce': nonce } : {}) });
}

const Anything = z.object({ ok: z.boolean() });
const key = () => createDeviceKey(join(freshFolder(), 'key.json'));

async function claims(proof: unknown) {
  const jwk = decodeProtectedHeader(String(proof)).jwk;
  const { payload } = await jwtVerify(String(proof), jwk as never, {
    typ: 'dpop+jwt',
    algorithms: ['ES256'],
  });
  return payload;
}

describe('a device', () => {
  it('buys a token with its proof and binds each request to method, URL, token and nonce', async () => {
    const { url, got } = await serve(({ path }, response) => {
      if (path === '/api/v1/devices/token') {
        json(
          response,
          200,
          { access_token: 'token-1', token_type: 'DPoP', expires_in: 600 },
          { 'dpop-nonce': 'n1' },
        );
      } else json(response, 200, { ok: true }, { 'dpop-nonce': 'n2' });
    });
    const http = new Http({ url, credentials: { type: 'device', key: await key() } });
    await http.json('GET', '/api/v1/x', Anything, { query: { q: 'a b' } });
    await http.json('GET', '/api/v1/x', Anything);
    expect(got.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/devices/token',
      'GET /api/v1/x?q=a+b',
      'GET /api/v1/x',
    ]);
    const first = await claims(got[1]?.headers.dpop);
    expect(got[1]?.headers.authorization).toBe('DPoP token-1');
    expect(first).toMatchObject({
      htm: 'GET',
      htu: `${url}/api/v1/x`,
      ath: hash('sha256', 'token-1', 'base64url'),
      nonce: 'n1',
    });
    const second = await claims(got[2]?.headers.dpop);
    expect(second.nonce).toBe('n2');
    expect(second.jti).not.toBe(first.jti);
  });

  it('sends a request once more with the nonce that was asked for, and no third time', async () => {
    let refusals = 1;
    const { url, got } = await serve(({ path }, response) => {
      if (path === '/api/v1/devices/token') {
        json(response, 200, { access_token: 't', token_type: 'DPoP', expires_in: 600 });
      } else if (refusals-- > 0) refuse(response, 'Old nonce.', 'DPoP error="use_dpop_nonce"', 'fresh');
      else json(response, 200, { ok: true });
    });
    const http = new Http({ url, credentials: { type: 'device', key: await key() } });
    await http.json('PUT', '/api/v1/x', Anything, { body: { a: 1 } });
    expect((await claims(got.at(-1)?.headers.dpop)).nonce).toBe('fresh');
    refusals = 100;
    await expect(http.json('GET', '/api/v1/x', Anything)).rejects.toMatchObject({ code: 'unauthorized' });
    expect(got.length).toBeLessThan(10);
  });

  it('renews its token ahead of the end, once for all who wait, and when it is no longer taken', async () => {
    let clock = 0;
    let sold = 0;
    let taken = 'token-1';
    const { url } = await serve(({ path, headers }, response) => {
      if (path === '/api/v1/devices/token') {
        json(response, 200, { access_token: `token-${++sold}`, token_type: 'DPoP', expires_in: 600 });
      } else if (headers.authorization === `DPoP ${taken}`) json(response, 200, { ok: true });
      else refuse(response, 'No such token.', 'DPoP error="invalid_token"');
    });
    const http = new Http({ url, credentials: { type: 'device', key: await key() }, now: () => clock });
    const get = () => http.json('GET', '/api/v1/x', Anything);
    await Promise.all([get(), get(), get()]);
    expect(sold).toBe(1);
    clock = 541_000;
    taken = 'token-2';
    await Promise.all([get(), get()]);
    expect(sold).toBe(2);
    taken = 'token-3';
    await get();
    expect(sold).toBe(3);
  });

  it('is unpaired only when its key is refused, which a failing registry does not say', async () => {
    let status = 503;
    const { url } = await serve((_, response) => {
      if (status === 401) refuse(response, 'This device was revoked; pair it again to use it.');
      else response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>busy</h1>');
    });
    const http = new Http({ url, credentials: { type: 'device', key: await key() } });
    const get = () => http.json('GET', '/api/v1/x', Anything);
    await expect(get()).rejects.toMatchObject({
      name: 'RegistryError',
      code: 'unavailable',
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 503/),
    });
    status = 401;
    await expect(get()).rejects.toThrow(Unpaired);
    await expect(get()).rejects.toThrow('This device was revoked; pair it again to use it.');
  });
});

describe('an API token', () => {
  it('is sent as bearer, and a refusal comes with code, sentence and details', async () => {
    const { url, got } = await serve((_, response) => {
      const details = { current_revision: 3, differs: ['SKILL.md'] };
      const body = { type: 'x', title: 'x', status: 409, detail: 'It changed.', code: 'conflict', details };
      json(response, 409, body);
    });
    const http = new Http({ url: `${url}/`, credentials: { type: 'bearer', token: 'sk_x' } });
    await expect(http.json('PATCH', '/api/v1/x', Anything, { body: {} })).rejects.toMatchObject({
      code: 'conflict',
      message: 'It changed.',
      details: { current_revision: 3, differs: ['SKILL.md'] },
    });
    expect(got.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk_x']);
  });

  it.each([
    ['nothing listens there', (url: string) => url.replace(/\d+$/, '1')],
    ['the answer breaks off', (url: string) => url],
  ])('meets one sentence that names the host when %s', async (_, where) => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"ok":');
      setImmediate(() => response.destroy());
    });
    const http = new Http({ url: where(url), credentials: { type: 'bearer', token: 'sk_secret' } });
    const failed = http.json('GET', '/api/v1/x', Anything);
    await expect(failed).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(
        /^The registry at 127\.0\.0\.1:\d+ cannot be reached \(.+\); check .+\.$/,
      ),
    });
    await expect(failed).rejects.not.toThrow(/sk_secret/);
  });

  it('never follows the registry to another address with its token', async () => {
    const other = await serve((_, response) => json(response, 200, { ok: true }));
    const { url } = await serve((_, response) =>
      response.writeHead(307, { location: `${other.url}/x` }).end(),
    );
    const http = new Http({ url, credentials: { type: 'bearer', token: 'sk_x' } });
    await expect(http.json('GET', '/api/v1/x', Anything)).rejects.toMatchObject({ code: 'unavailable' });
    expect(other.got).toEqual([]);
  });

  it('never quotes the token, not even one that no header can hold', async () => {
    const http = new Http({
      url: 'http://127.0.0.1:9',
      credentials: { type: 'bearer', token: 'sk_x\nsk_y' },
    });
    const error = (await http.json('GET', '/api/v1/x', Anything).catch((reason: unknown) => reason)) as Error;
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error.message).not.toContain('sk_');
  });

  it('says so when the answer has another form than this version knows', async () => {
    const { url } = await serve((_, response) => json(response, 200, { ok: 'yes' }));
    const http = new Http({ url, credentials: { type: 'bearer', token: 'sk_x' } });
    await expect(http.json('GET', '/api/v1/x', Anything)).rejects.toThrow(/does not know \(ok\); update/);
  });
});

describe('the key', () => {
  it('is kept in a file that only this user may read, and stays the same', async () => {
    const path = join(freshFolder(), 'key.json');
    expect(await readDeviceKey(path)).toBeNull();
    const made = await createDeviceKey(path);
    expect((await readDeviceKey(path))?.thumbprint).toBe(made.thumbprint);
    const proof = await made.proof({ method: 'GET', url: 'https://x.example/a?b#c', at: 1_700_000_000_000 });
    expect(decodeProtectedHeader(proof).jwk).not.toHaveProperty('d');
    expect(await claims(proof)).toMatchObject({ htu: 'https://x.example/a', iat: 1_700_000_000 });
  });
});
