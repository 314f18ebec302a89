import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { createDeviceKey } from '../../agent/device-key.ts';
import { Http } from '../../agent/http.ts';
import { type Listen, listen } from '../../agent/listen.ts';
import { CLOSE } from '../../schema/push.ts';
import { freshFolder, until } from './registry.ts';

interface Door {
  /** What the next answer to a request for a token is. */
  token: 200 | 401 | 503;
  /** What the next upgrade is answered. */
  upgrade: 101 | 401 | 503;
  sockets: WebSocket[];
  pings: number;
  answerPings: boolean;
}

/** A doorbell on a port of its own that behaves as the test says. */
async function open(): Promise<{ door: Door; http: Http; url: string }> {
  const door: Door = { token: 200, upgrade: 101, sockets: [], pings: 0, answerPings: true };
  const server = createServer((_, response) => {
    const body =
      door.token === 200
        ? { access_token: 'token', token_type: 'DPoP', expires_in: 600 }
        : { type: 'x', title: 'x', status: door.token, detail: 'It was revoked.', code: 'unauthorized' };
    response.writeHead(door.token, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    if (door.upgrade !== 101) return socket.end(`HTTP/1.1 ${door.upgrade} No\r\ncontent-length: 0\r\n\r\n`);
    sockets.handleUpgrade(request, socket, head, (opened) => {
      door.sockets.push(opened);
      opened.on('message', () => {
        door.pings++;
        if (door.answerPings) opened.send('pong');
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = await createDeviceKey(join(freshFolder(), 'key.json'));
  return { door, url, http: new Http({ url, credentials: { type: 'device', key } }) };
}

function start(http: Http, timing: Listen['timing'] = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const seen = {
    opened: 0,
    doubts: 0,
    rings: [] as string[],
    retries: [] as number[],
    reasons: [] as string[],
  };
  const ended = listen({
    http,
    signal: stop.signal,
    random: () => 0.5,
    timing: { retryFrom: 1, retryTo: 64, ...timing },
    onOpen: () => seen.opened++,
    onDoubt: () => seen.doubts++,
    onRing: (cursor) => seen.rings.push(cursor),
    onClosed(reason, delay) {
      seen.reasons.push(reason);
      seen.retries.push(delay);
    },
  });
  return { seen, ended, stop };
}

describe('listening', () => {
  it('hands on rings, and nothing else that comes', async () => {
    const { door, http } = await open();
    const { seen } = start(http);
    await until(() => door.sockets.length === 1);
    for (const text of ['nonsense', '{"type":"ring"}', '{"type":"ring","cursor":"e:7"}'])
      door.sockets[0]?.send(text);
    await until(() => seen.rings.length > 0);
    expect(seen).toMatchObject({ opened: 1, rings: ['e:7'], retries: [] });
  });

  it('gives up a socket that no longer answers pings, and opens another', async () => {
    const { door, http } = await open();
    door.answerPings = false;
    const { seen } = start(http, { ping: 5, pong: 20 });
    await until(() => seen.opened === 2);
    expect(door.pings).toBeGreaterThan(0);
    expect(seen.reasons[0]).toBe('The registry no longer answers.');
  });

  it('keeps one that answers', async () => {
    const { door, http } = await open();
    const { seen } = start(http, { ping: 2, pong: 10_000 });
    await until(() => door.pings > 20);
    expect([seen.opened, seen.retries]).toEqual([1, []]);
  });

  it('waits longer and longer between tries, up to the most, and by chance', async () => {
    const { door, http } = await open();
    door.upgrade = 503;
    const { seen } = start(http);
    await until(() => seen.retries.length >= 9);
    // Half way between the least, 1, and 2, 4, 8, … at most 64.
    expect(seen.retries.slice(0, 8)).toEqual([1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 32.5, 32.5]);
    door.upgrade = 101;
    await until(() => seen.opened === 1);
    door.sockets[0]?.send('{"type":"ring","cursor":"e:1"}');
    await until(() => seen.rings.length === 1);
    const tries = seen.retries.length;
    door.sockets[0]?.close(CLOSE.expired.code);
    await until(() => seen.opened === 2);
    expect(seen.retries[tries]).toBe(1.5);
  });

  it('is unpaired by a refused key alone: not by a refused socket, a close code or a failing registry', async () => {
    const { door, http } = await open();
    const { seen, ended } = start(http);
    await until(() => seen.opened === 1);
    door.sockets[0]?.close(CLOSE.revoked.code, CLOSE.revoked.reason);
    await until(() => seen.opened === 2);
    expect(seen.doubts).toBe(1);
    door.upgrade = 401;
    door.token = 503;
    const before = seen.retries.length;
    door.sockets[1]?.terminate();
    await until(() => seen.retries.length > before + 3);
    door.token = 401;
    expect(await ended).toBe('unpaired');
  });

  it('leaves its place to another socket of the device', async () => {
    const { door, http } = await open();
    const { seen, ended } = start(http);
    await until(() => seen.opened === 1);
    door.sockets[0]?.close(CLOSE.replaced.code, CLOSE.replaced.reason);
    expect(await ended).toBe('replaced');
  });

  it('stops at once, also while it waits', async () => {
    const { door, http } = await open();
    door.upgrade = 503;
    const { seen, ended, stop } = start(http, { retryFrom: 1_000_000, retryTo: 2_000_000 });
    await until(() => seen.retries.length === 1);
    stop.abort();
    expect(await ended).toBe('stopped');
  });

  it('ends when it is stopped before there is a socket', async () => {
    const { door, http } = await open();
    const headers = http.headers.bind(http);
    const { ended, stop } = start(
      Object.assign(http, {
        async headers(method: string, url: string) {
          const made = await headers(method, url);
          stop.abort();
          return made;
        },
      }),
    );
    expect(await ended).toBe('stopped');
    expect(door.sockets).toHaveLength(0);
  });
});
