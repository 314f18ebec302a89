import { randomUUID } from 'node:crypto';
import { DatabaseFile, SqlError, type SyncFile } from './database.ts';
import { answer, type StreamRequest } from './hrana-requests.ts';

/**
 * Hrana over HTTP with JSON bodies, versions 2 and 3, without cursors and `describe`: what `@libsql/client` speaks to
 * Turso. Messages are as in the specification, docs/HRANA_3_SPEC.md of tursodatabase/libsql.
 */
export interface Hrana {
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same without the objects of `fetch`, which cost as much as a small query. */
  readonly serve: (request: HttpRequest) => Promise<HttpAnswer>;
  close(): void;
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

interface Stream {
  readonly sql: Map<number, string>;
  baton: string | null;
  /** True from its turn on until it is outside a transaction again. */
  hasTurn: boolean;
  closed: boolean;
  timer?: NodeJS.Timeout;
  overdue?: number;
}

interface Pipeline {
  baton?: string | null;
  requests: StreamRequest[];
}

/**
 * Serves one database file.
 * - A pipeline runs in one go; pipelines take turns in the order of their arrival.
 * - A stream that leaves a transaction open keeps its turn, and everyone waits, until it commits, rolls back, closes, or
 *   `transactionTimeoutMs` have passed since it took the turn: then it is rolled back and its baton is worth nothing.
 * - An answer leaves when all that it tells of survives power loss; others take their turns while the disk is busy.
 * - A baton is good for one use. A stream outside a transaction that is left unclosed expires after the same time.
 *
 * @throws SqlError as `DatabaseFile` does.
 */
export function createHrana({
  file,
  transactionTimeoutMs = 5_000,
  sync,
}: {
  file: string;
  transactionTimeoutMs?: number;
  sync?: SyncFile;
}): Hrana {
  const database = new DatabaseFile(file, sync);
  const turns = new Turns();
  const streams = new Map<string, Stream>();
  let closed = false;

  async function runPipeline({ baton, requests }: Pipeline) {
    const stream = baton ? resume(baton) : newStream();
    if (!stream.hasTurn) await turns.take();
    stream.hasTurn = true;
    try {
      if (closed) throw new SqlError('STREAM_EXPIRED', 'The database is closed');
      const results = requests.map((request) => {
        if (request.type === 'close') stream.closed = true;
        return answer(database, stream.sql, request);
      });
      park(stream);
      const { baton: next } = stream;
      await database.durable();
      return { baton: next, base_url: null, results };
    } catch (error) {
      end(stream);
      throw error;
    }
  }

  function resume(baton: string): Stream {
    const stream = streams.get(baton);
    if (!stream) throw new SqlError('STREAM_EXPIRED', 'The stream has expired due to inactivity');
    streams.delete(baton);
    clearTimeout(stream.timer);
    return stream;
  }

  function park(stream: Stream): void {
    if (stream.closed) {
      end(stream);
      return;
    }
    if (database.inTransaction) stream.overdue ??= Date.now() + transactionTimeoutMs;
    else releaseTurn(stream);
    stream.baton = randomUUID();
    streams.set(stream.baton, stream);
    const wait = stream.overdue === undefined ? transactionTimeoutMs : stream.overdue - Date.now();
    stream.timer = setTimeout(end, Math.max(0, wait), stream);
  }

  function end(stream: Stream): void {
    clearTimeout(stream.timer);
    if (stream.baton) streams.delete(stream.baton);
    stream.baton = null;
    if (stream.hasTurn) {
      if (!closed) database.rollback();
      releaseTurn(stream);
    }
  }

  function releaseTurn(stream: Stream): void {
    stream.hasTurn = false;
    delete stream.overdue;
    turns.give();
  }

  async function serve({ method, path, body }: HttpRequest): Promise<HttpAnswer> {
    if (method === 'GET' && /^\/v[23]\/?$/.test(path)) return { status: 200, type: TEXT, body: '' };
    if (method !== 'POST' || !/^\/v[23]\/pipeline$/.test(path))
      return { status: 404, type: TEXT, body: 'Not found' };
    try {
      return json(200, await runPipeline(JSON.parse(body)));
    } catch (error) {
      const { code, message } =
        error instanceof SqlError ? error : { code: 'INTERNAL', message: 'The request could not be served' };
      return json(code === 'INTERNAL' ? 500 : 400, { message, code });
    }
  }

  return {
    serve,
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      const { status, type, body } = await serve({
        method: request.method,
        path,
        body: await request.text(),
      });
      return new Response(body, { status, headers: { 'content-type': type } });
    },
    close() {
      if (closed) return;
      closed = true;
      for (const stream of streams.values()) end(stream);
      database.close();
    },
  };
}

const TEXT = 'text/plain';

function json(status: number, value: unknown): HttpAnswer {
  return { status, type: 'application/json', body: JSON.stringify(value) };
}

class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  async take(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken = true;
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

function newStream(): Stream {
  return { sql: new Map(), baton: null, hasTurn: false, closed: false };
}
