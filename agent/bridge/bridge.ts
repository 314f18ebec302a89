import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Machine } from '../../schema/folders.ts';
import { platformPaths } from '../platform.ts';
import { stateFiles } from '../state.ts';
import { createExchange, type Timing } from './exchange.ts';
import { refusal } from './refusal.ts';

export interface BridgeOptions extends Machine {
  /** Messages of the client, a line each. */
  stdin: Readable;
  /** Nothing but the protocol. */
  stdout: Writable;
  /** One sentence per line for the person. */
  stderr: Writable;
  /** Version of the agent. */
  version: string;
  fetch?: typeof fetch;
  timing?: Partial<Timing>;
}

/**
 * `repertoire mcp`: an MCP server on stdin and stdout that passes each request on to the registry's `/mcp`, with this
 * device's proof. Resolves when the client closes stdin.
 * Guarantees: every request gets one answer, unless it was cancelled; a call that may write is never sent twice; while the
 * registry cannot be reached, reading is answered from this device's last known state and writing is refused.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { stdin, stdout, stderr, env, home, platform, version, fetch = globalThis.fetch } = options;
  const log = (sentence: string) => stderr.write(`repertoire: ${sentence}\n`);
  const local = new StdioServerTransport(stdin, stdout);
  const exchange = createExchange({
    files: stateFiles(platformPaths({ env, home, platform }).state),
    machine: { env, home, platform },
    version,
    fetch,
    log,
    timing: options.timing,
  });
  // Which registry a message goes to is the exchange's matter: the device may be paired with another one meanwhile.
  const remote = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: exchange,
    redirectPolicy: 'follow',
  });
  const inFlight = new Map<string | number, { request: JSONRPCRequest; abort: AbortController }>();

  function reply(message: JSONRPCMessage): void {
    local.send(message).catch(() => local.close());
  }

  function fail(request: JSONRPCRequest, sentence: string): void {
    if (inFlight.delete(request.id)) reply(refusal(request, sentence));
  }

  local.onmessage = (message) => {
    if (isJSONRPCNotification(message)) {
      // The registry keeps nothing between requests, so that no other notification could mean anything to it.
      if (message.method === 'notifications/cancelled') cancel(message.params?.requestId);
    } else if (isJSONRPCRequest(message)) {
      const abort = new AbortController();
      inFlight.set(message.id, { request: message, abort });
      remote
        .send(message, {
          requestSignal: abort.signal,
          onRequestStreamEnd: () => fail(message, 'The answer of the registry broke off; try again.'),
        })
        .catch((error: unknown) => fail(message, `The request failed: ${String(error)}`));
    }
  };

  function cancel(id: unknown): void {
    const cancelled = inFlight.get(id as string | number);
    inFlight.delete(id as string | number);
    cancelled?.abort.abort();
  }

  remote.onmessage = (message) => {
    if (isJSONRPCResponse(message)) {
      const answered = message.id === undefined ? undefined : inFlight.get(message.id);
      if (!answered) return;
      inFlight.delete(answered.request.id);
      const agreed = 'result' in message ? message.result.protocolVersion : undefined;
      if (answered.request.method === 'initialize' && typeof agreed === 'string') {
        remote.setProtocolVersion(agreed);
      }
    }
    reply(message);
  };

  const { promise, resolve } = Promise.withResolvers<void>();
  local.onclose = resolve;
  local.onerror = ({ name, message }) => {
    // What a shape says about a value is long, and quotes it.
    const reason = name.includes('Zod') ? 'it is no message of the protocol.' : message;
    log(`A message could not be read: ${reason}`);
  };
  await remote.start();
  await local.start();
  await promise;
  await remote.close();
}
