import type { Result, Tool } from '@modelcontextprotocol/server';

const NO_TOOLS = '"tools":[]';

/** JSON in UTF-8, for as long as a list is kept. */
const written = new WeakMap<readonly Tool[], Blob>();

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
    // A stream is there before its first message is.
    const text = await response.text();
    const at = text.indexOf(NO_TOOLS);
    if (this.#tools === null || at < 0) return new Response(text, response);
    const [before, after] = [text.slice(0, at + NO_TOOLS.length - 2), text.slice(at + NO_TOOLS.length)];
    return new Response(new Blob([before, jsonOf(this.#tools), after]), response);
  }
}

function jsonOf(tools: readonly Tool[]): Blob {
  const known = written.get(tools);
  if (known) return known;
  const json = new Blob([JSON.stringify(tools)]);
  written.set(tools, json);
  return json;
}
