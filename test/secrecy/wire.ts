import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request with its answer, as they went over the wire. */
export interface Exchange {
  readonly url: string;
  readonly sent: { readonly headers: IncomingHttpHeaders; readonly body: string };
  readonly status: number;
  readonly answer: { readonly headers: IncomingHttpHeaders; readonly body: string };
}

/** Stands before a registry, under a port of its own, and keeps all that passes. */
export async function tapWire(target: string) {
  const exchanges: Exchange[] = [];
  const { port } = new URL(target);
  const forward = (incoming: IncomingMessage) => {
    const { method, url: path, headers } = incoming;
    return request({ host: '127.0.0.1', port, method, path, headers });
  };
  const server = createServer(async (incoming, outgoing) => {
    const body = await read(incoming);
    const onward = forward(incoming);
    onward.on('error', () => outgoing.destroy());
    onward.on('response', async (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.rawHeaders);
      const answer = await read(response);
      outgoing.end(answer);
      exchanges.push({
        url: incoming.url ?? '',
        sent: { headers: incoming.headers, body: body.toString() },
        status: response.statusCode ?? 0,
        answer: { headers: response.headers, body: answer.toString() },
      });
    });
    onward.end(body);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const onward = forward(incoming);
    onward.on('upgrade', (response, far, first) => {
      exchanges.push({
        url: incoming.url ?? '',
        sent: { headers: incoming.headers, body: '' },
        status: 101,
        answer: { headers: response.headers, body: '' },
      });
      const lines = response.rawHeaders.flatMap((name, i, all) => (i % 2 ? [] : [`${name}: ${all[i + 1]}`]));
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
      if (first.length > 0) socket.write(first);
      far.write(head);
      far.pipe(socket).pipe(far);
      for (const end of [far, socket]) end.on('error', () => end.destroy());
    });
    onward.on('response', () => socket.destroy());
    onward.on('error', () => socket.destroy());
    onward.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** What browsers call it: passkeys take no numbers. */
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    exchanges,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Fields of forms and of JSON, and parameters of addresses, whose values are secrets. */
const SECRET_FIELDS = new Set([
  ...['token', 'access_token', 'refresh_token', 'device_code', 'recovery_codes', 'challenge'],
  ...['client_secret', 'code', 'code_verifier', 'clientDataJSON', 'signature', 'registration_access_token'],
]);

/** Every secret that passed, by where it was seen first. */
export function secretsIn(exchanges: readonly Exchange[]): Map<string, string> {
  const found = new Map<string, string>();
  const note = (where: string, value: unknown) => {
    if (Array.isArray(value)) for (const each of value) note(where, each);
    else if (typeof value === 'string' && value.length >= 16 && !found.has(value)) found.set(value, where);
  };
  for (const { url, sent, answer } of exchanges) {
    const at = (what: string) => `${what} of ${url.split('?')[0]}`;
    note(at('the credential'), sent.headers.authorization?.split(' ')[1]);
    note(at('the proof'), sent.headers.dpop);
    for (const pair of [sent.headers.cookie ?? '', ...(answer.headers['set-cookie'] ?? [])].flatMap((line) =>
      line.split(/; */),
    ))
      note(at('a cookie'), pair.slice(pair.indexOf('=') + 1));
    for (const [name, value] of [...fields(sent.body), ...fields(answer.body)])
      if (SECRET_FIELDS.has(name)) note(at(name), value);
    const back = answer.headers.location && new URL(answer.headers.location, 'http://localhost');
    if (back) note(at('the code'), back.searchParams.get('code'));
    note(at('the handle'), /name="handle" value="([^"]+)"/.exec(answer.body)?.[1]);
  }
  return found;
}

function* fields(body: string): Generator<[string, unknown]> {
  try {
    yield* members(JSON.parse(body));
  } catch {
    if (/^[\w.]+=/.test(body)) yield* new URLSearchParams(body);
  }
}

function* members(value: unknown): Generator<[string, unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    yield [name, member];
    yield* members(member);
  }
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
