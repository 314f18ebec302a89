/** As much as a program's message on its standard output may have. Bytes. */
const MOST_BYTES = 10 * 1024 * 1024;

const LF = 10;
const CR = 13;

/**
 * `fetch` for an MCP server: an answer, and each event of a stream of them, ends with an error when it has more than
 * 10 MiB. Neither is of use before its end, so that without this an answer without one would fill the memory.
 */
export async function fetchBounded(
  url: string | URL | Request,
  init?: RequestInit,
  most = MOST_BYTES,
): Promise<Response> {
  const response = await fetch(url, init);
  const { body, headers, status, statusText } = response;
  if (!body) return response;
  const stream = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  return new Response(body.pipeThrough(bounded(most, stream)), { headers, status, statusText });
}

function bounded(most: number, stream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of stream ? chunk : []) {
        bytes++;
        if (byte === CR) continue;
        // An empty line ends an event.
        if (byte === LF && last === LF) bytes = 0;
        last = byte;
      }
      if (!stream) bytes += chunk.length;
      if (bytes > most) throw new Error(`one of its messages is larger than ${most / 1024 / 1024} MiB`);
      controller.enqueue(chunk);
    },
  });
}
