import { RegistryError } from '../../schema/errors.ts';

/** Bytes of one answer, however it comes: a tool's result may carry files, but no isolate holds much more. */
const ANSWER_BYTES = 16 * 1024 * 1024;
/** An event stream whose first message is longer, or comes in more pieces, is left to stream. */
const PEEKED_BYTES = 256 * 1024;
const PEEKED_PIECES = 64;

const EVENT_END = /\r\n\r\n|\n\n|\r\r/;
const LINE_END = /\r\n|\n|\r/;

/**
 * The response with a body that ends in an error after 16 MiB. Streams made of JavaScript are much of what a request costs in
 * workerd, so where none is needed there is none: JSON is read whole, and so is an event stream whose first message is the
 * answer to `asked`, the text of a JSON-RPC request; it is then given as JSON.
 */
export async function limitedAnswer(
  response: Response,
  { host, asked }: { host: string; asked: string | null },
): Promise<Response> {
  if (response.body === null) return response;
  const body = new Body(response.body, host);
  const type = response.headers.get('content-type') ?? '';
  if (/^application\/json\b/i.test(type)) return withBody(response, await body.rest());
  const streams = /^text\/event-stream\b/i.test(type);
  const answer = streams && asked !== null ? await firstAnswer(body, asked) : null;
  if (answer === null) return withBody(response, body.stream());
  body.cancel();
  const json = withBody(response, answer);
  json.headers.set('content-type', 'application/json');
  return json;
}

function withBody({ status, statusText, headers }: Response, body: BodyInit): Response {
  return new Response(body, { status, statusText, headers });
}

/** The text of the stream's first message, where that is an answer; null for any other, and whatever went wrong. */
async function firstAnswer(body: Body, asked: string): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  for (let pieces = 0; pieces < PEEKED_PIECES && body.taken <= PEEKED_BYTES; pieces++) {
    // What goes wrong here is met again by whoever reads the stream.
    const chunk = await body.peek().catch(() => null);
    if (chunk === null) return null;
    text += decoder.decode(chunk, { stream: true });
    const events = text.split(EVENT_END).slice(0, -1);
    const message = events.map(dataOf).find((data) => data !== '');
    if (message !== undefined) return isAnswer(message, asked) ? message : null;
  }
  return null;
}

/** Data of one event; empty where it only says from where the stream could be resumed. */
function dataOf(event: string): string {
  const data = event.split(LINE_END).filter((line) => line.startsWith('data:'));
  return data.map((line) => line.slice('data:'.length).trimStart()).join('\n');
}

function isAnswer(text: string, asked: string): boolean {
  try {
    const { id, method } = JSON.parse(text);
    return method === undefined && asked.includes(`"id":${JSON.stringify(id)}`);
  } catch {
    return false;
  }
}

/** A body that is read piece by piece, and no further than the limit. */
class Body {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #host: string;
  readonly #peeked: Uint8Array[] = [];
  taken = 0;

  constructor(body: ReadableStream<Uint8Array>, host: string) {
    this.#reader = body.getReader();
    this.#host = host;
  }

  /** The next piece, which stays part of what is given later; null at the end. */
  async peek(): Promise<Uint8Array | null> {
    const piece = await this.#read();
    if (piece) this.#peeked.push(piece);
    return piece;
  }

  async rest(): Promise<Blob> {
    while (await this.peek());
    return new Blob(this.#peeked);
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = this.#peeked.shift() ?? (await this.#read());
          if (piece) controller.enqueue(piece);
          else controller.close();
        },
        cancel: (reason) => this.#reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  cancel(reason?: unknown): void {
    void this.#reader.cancel(reason).catch(() => undefined);
  }

  async #read(): Promise<Uint8Array | null> {
    const { done, value } = await this.#reader.read();
    if (done) return null;
    this.taken += value.byteLength;
    if (this.taken <= ANSWER_BYTES) return value;
    const error = tooLarge(this.#host);
    this.cancel(error);
    throw error;
  }
}

function tooLarge(host: string): RegistryError {
  return new RegistryError(
    'unavailable',
    `${host} answered with more than 16 MiB, so the answer was dropped; ask for less at a time.`,
  );
}
