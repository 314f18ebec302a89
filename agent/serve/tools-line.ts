import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';

/**
 * Writes answers to `tools/list`; null for any other message, which is then not written. With hundreds of skills on board,
 * putting a list into JSON takes longer than all else that is done for it, and the next one is the same: the same array goes
 * out in the bytes that were made of it the last time.
 */
export function toolsWriter(stdout: Writable): (message: JSONRPCMessage) => Promise<void> | null {
  let last: { tools: unknown[]; json: Buffer } | null = null;
  return (message) => {
    if (!('result' in message) || !Array.isArray(message.result.tools)) return null;
    const { result, jsonrpc, id } = message;
    const { tools, ...rest } = result as { tools: unknown[] };
    if (last?.tools !== tools) last = { tools, json: Buffer.from(JSON.stringify(tools)) };
    const [head, others] = [JSON.stringify({ jsonrpc, id }).slice(0, -1), JSON.stringify(rest).slice(1, -1)];
    stdout.write(`${head},"result":{${others}${others === '' ? '' : ','}"tools":`);
    stdout.write(last.json);
    return stdout.write('}}\n') ? Promise.resolve() : once(stdout, 'drain').then(() => undefined);
  };
}
