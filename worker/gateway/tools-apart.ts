import type { Result, Tool } from '@modelcontextprotocol/server';

const NO_TOOLS = '"tools":[]';

/** An answer as it was last written, and which bytes of it are the tools. */
interface Written {
  readonly before: string;
  readonly after: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tools: readonly [from: number, to: number];
}

/** For as long as a list is kept. */
const written = new WeakMap<readonly Tool[], Written>();

/**
 * A list of tools on its way past the SDK, which would put it into JSON anew for each answer: with hundreds of skills on
 * board that takes longer than all else that is done for it, and most lists are the list of before. The SDK answers with an
 * empty list, in the revision's own form, and the tools take its place in what it wrote.
 */
export class ToolsApart {
  #tools: readonly Tool[] | null = null;

  /** The result without its tools, which are kept for {@link into}. */
  take({ tools, ...rest }: Result & { tools: readonly Tool[] }): Result {
    this.#tools = tools;
    return { ...rest, tools: [] };
  }

  /** The answer with the tools that were taken, where there are any. */
  async into(response: Response): Promise<Response> {
    if (response.body === null) return response;
    // A stream is there before its first message is.
    const text = await response.text();
    const at = text.indexOf(NO_TOOLS);
    if (this.#tools === null || at < 0) return new Response(text, response);
    const [before, after] = [text.slice(0, at + NO_TOOLS.length - 2), text.slice(at + NO_TOOLS.length)];
    return new Response(bytesOf(this.#tools, before, after), response);
  }
}

function bytesOf(tools: readonly Tool[], before: string, after: string): Uint8Array<ArrayBuffer> {
  const last = written.get(tools);
  // Clients begin to count their requests at the same number.
  if (last?.before === before && last.after === after) return last.bytes;
  const json = last ? last.bytes.subarray(...last.tools) : encode(JSON.stringify(tools));
  const [head, tail] = [encode(before), encode(after)];
  const bytes = new Uint8Array(head.length + json.length + tail.length);
  bytes.set(head);
  bytes.set(json, head.length);
  bytes.set(tail, head.length + json.length);
  written.set(tools, { before, after, bytes, tools: [head.length, head.length + json.length] });
  return bytes;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
