import { DurableObject } from 'cloudflare:workers';
import { type Client, createClient } from '@libsql/client/web';

/** The least that could do the work: one commit, a bare ring to hibernating sockets, one read per pull. No rule is kept here. */

interface Env {
  LIBSQL: Fetcher;
  NETWORK: Fetcher;
  DOORBELL: DurableObjectNamespace<Doorbell>;
}

let client: Client | null = null;

export class Doorbell extends DurableObject {
  override fetch(): Response {
    const { 0: outer, 1: inner } = new WebSocketPair();
    this.ctx.acceptWebSocket(inner);
    return new Response(null, { status: 101, webSocket: outer });
  }

  ring(): void {
    for (const socket of this.ctx.getWebSockets()) socket.send('ring');
  }
}

export default {
  async fetch(request, { LIBSQL, NETWORK, DOORBELL }, ctx) {
    client ??= createClient({
      url: 'http://libsql',
      fetch: LIBSQL.fetch.bind(LIBSQL),
      concurrency: Number.POSITIVE_INFINITY,
    });
    const { pathname, searchParams } = new URL(request.url);
    const doorbell = DOORBELL.getByName('floor');
    switch (pathname) {
      case '/make':
        await client.execute('create table floor (seq integer primary key, text text not null)');
        return new Response();
      case '/write': {
        const text = await request.text();
        await client.batch([{ sql: 'insert into floor (text) values (?)', args: [text] }], 'write');
        ctx.waitUntil(doorbell.ring());
        return new Response();
      }
      case '/pull': {
        const { rows } = await client.execute('select text from floor order by seq desc limit 1');
        return new Response(String(rows[0]?.text));
      }
      case '/listen':
        return doorbell.fetch(request);
      case '/trips': {
        for (let n = Number(searchParams.get('n')); n > 0; n--) await client.batch(['select 1'], 'write');
        return new Response();
      }
      case '/forward': {
        await client.batch(['select 1'], 'write');
        const { method, headers } = request;
        return NETWORK.fetch(String(searchParams.get('to')), { method, headers, body: await request.text() });
      }
      default:
        return new Response(null, { status: 404 });
    }
  },
} satisfies ExportedHandler<Env>;
