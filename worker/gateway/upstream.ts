import {
  type AuthProvider,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  type ClientCapabilities,
  type FetchLike,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';
import { newId } from '../registry/random.ts';
import { type Era, type Facts, factsOf, KeptFacts, sameEra } from './facts.ts';
import type { Kept } from './kept.ts';
import { THROUGH_HEADER } from './loop.ts';
import { EndedEarly, notAnswered } from './upstream-error.ts';

const US = { name: 'repertoire', version: '0.1.0' } as const;

/** How a server is reached, for one request of ours. */
export interface Target {
  readonly url: URL;
  readonly fetch: FetchLike;
  /** Of a credential that is a header. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of one that is a token that may have to be renewed. */
  readonly authProvider: AuthProvider | undefined;
}

export type Outcome =
  | { readonly result: Record<string, unknown> }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

export interface Forwarding {
  /** Ends the request there too. */
  readonly signal: AbortSignal;
  /** What the calling client can be asked for. */
  readonly capabilities?: ClientCapabilities;
  /** Parameters that the calling client mirrors in headers (`Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Progress and logging while the request is under way. */
  readonly onNotification?: (notification: JSONRPCNotification) => void;
  /** Under which id the server knows the request. */
  readonly onSent?: (id: string) => void;
}

/** What a server says of itself, as long as it is no burden to keep. */
const FACTS_CHARS = 256 * 1024;

/**
 * A server, spoken to in whatever revision it knows. Nothing of it outlives the request but facts, for each caller by
 * itself: which revision, what it offers, and the session of a server that keeps one. Requests and answers pass as they
 * are.
 */
export class Upstream {
  readonly #name: string;
  readonly #target: () => Promise<Target>;
  readonly #known: KeptFacts;

  constructor(options: {
    name: string;
    /** Opens the credential, so it is asked when there is something to say to the server. */
    target: () => Promise<Target>;
    kept: Kept;
    callerId: string;
  }) {
    this.#name = options.name;
    this.#target = options.target;
    this.#known = new KeptFacts(options.kept, options.callerId);
  }

  /** What it offers; asked at most once by an isolate. @throws RegistryError `unavailable` */
  async facts(signal: AbortSignal): Promise<Facts> {
    return this.#known.get() ?? this.#negotiate(signal);
  }

  /** One request there and back. @throws RegistryError `unavailable` when no answer comes */
  async request(
    method: string,
    params: Record<string, unknown> | undefined,
    forwarding: Forwarding,
  ): Promise<Outcome> {
    const facts = await this.facts(forwarding.signal);
    let refused: unknown;
    try {
      return await this.#exchange(facts, method, params, forwarding);
    } catch (error) {
      if (!mayHaveChanged(error)) throw notAnswered(this.#name, error);
      refused = error;
    }
    this.#known.drop(facts);
    const again = await this.facts(forwarding.signal);
    if (sameEra(facts, again)) throw notAnswered(this.#name, refused);
    // A session that has ended, or a revision that is not spoken any more, did nothing, so nothing is done twice.
    try {
      return await this.#exchange(again, method, params, forwarding);
    } catch (error) {
      throw notAnswered(this.#name, error);
    }
  }

  /** Tells it that a request is not waited for any more. */
  async cancel(id: string): Promise<void> {
    const facts = this.#known.get();
    if (!facts || facts.era.modern) return;
    await this.#tell(facts, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  }

  async #negotiate(signal: AbortSignal): Promise<Facts> {
    const transport = await this.#transport(null);
    const client = new Client(US, { capabilities: {}, versionNegotiation: { mode: 'auto' } });
    const stop = () => void transport.close();
    signal.addEventListener('abort', stop);
    try {
      await client.connect(transport, { signal });
      const facts = factsOf(client, transport.sessionId);
      const chars = JSON.stringify(facts).length;
      if (chars > FACTS_CHARS) throw saysTooMuch(this.#name);
      this.#known.set(facts, chars);
      return facts;
    } catch (error) {
      throw notAnswered(this.#name, signal.aborted ? signal.reason : error);
    } finally {
      signal.removeEventListener('abort', stop);
      await client.close();
    }
  }

  async #exchange(
    facts: Facts,
    method: string,
    params: Record<string, unknown> | undefined,
    { signal, capabilities = {}, headers = {}, onNotification, onSent }: Forwarding,
  ): Promise<Outcome> {
    signal.throwIfAborted();
    const { era } = facts;
    // Clients count from one each, and a session may be shared by several.
    const id = newId();
    const message = {
      jsonrpc: '2.0' as const,
      id,
      method,
      params: era.modern ? enveloped(params, era.version, capabilities) : (params ?? {}),
    };
    const transport = await this.#transport(era);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    transport.onmessage = (received: JSONRPCMessage) => {
      if ('method' in received) {
        if (!('id' in received)) onNotification?.(received);
        else void transport.send(refusalOf(received)).catch(() => undefined);
      } else if (received.id === id) resolve(outcomeOf(received));
    };
    const stop = () => {
      if (!era.modern) void this.cancel(id).catch(() => undefined);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop);
    try {
      await transport.start();
      onSent?.(id);
      transport.send(message, { headers, onRequestStreamEnd: () => reject(new EndedEarly()) }).catch(reject);
      return await promise;
    } catch (error) {
      const told = toldInBody(error);
      if (told) return told;
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      await transport.close();
    }
  }

  async #tell({ era }: Facts, notification: JSONRPCNotification): Promise<void> {
    const transport = await this.#transport(era);
    await transport.start();
    try {
      await transport.send(notification);
    } finally {
      await transport.close();
    }
  }

  /** `era`: null while that is to be found out. */
  async #transport(era: Era | null): Promise<StreamableHTTPClientTransport> {
    const { url, headers, authProvider, fetch } = await this.#target();
    return new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { ...headers, [THROUGH_HEADER]: '1' } },
      fetch: withoutStandingStream(fetch),
      onInsufficientScope: 'throw',
      ...(authProvider === undefined ? {} : { authProvider }),
      ...(era ? { protocolVersion: era.version } : {}),
      ...(era?.session === undefined ? {} : { sessionId: era.session }),
    });
  }
}

/** A stream for whatever the server may want to say some day would outlive the request; only a broken one is resumed. */
function withoutStandingStream(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
      return new Response(null, { status: 405 });
    return fetch(url, init);
  };
}

function enveloped(
  params: Record<string, unknown> | undefined,
  version: string,
  capabilities: ClientCapabilities,
): Record<string, unknown> {
  const meta = (params?._meta ?? {}) as Record<string, unknown>;
  return {
    ...params,
    _meta: {
      ...meta,
      [PROTOCOL_VERSION_META_KEY]: version,
      [CLIENT_CAPABILITIES_META_KEY]: capabilities,
      [CLIENT_INFO_META_KEY]: US,
    },
  };
}

function outcomeOf(response: JSONRPCResultResponse | JSONRPCErrorResponse): Outcome {
  return 'result' in response ? { result: response.result } : { error: response.error };
}

function saysTooMuch(name: string): RegistryError {
  return new RegistryError(
    'unavailable',
    `The server ${name} says more than ${FACTS_CHARS / 1024} KiB of itself in its handshake; its instructions have to be shorter.`,
  );
}

/** We offer nothing that a server could ask for, save a sign of life. */
function refusalOf({ id, method }: { id: string | number; method: string }): JSONRPCMessage {
  return method === 'ping'
    ? { jsonrpc: '2.0', id, result: {} }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
}

/** A JSON-RPC error may come with an HTTP status of its own, such as 404 for a method that is not there. */
function toldInBody(error: unknown): Outcome | null {
  if (!(error instanceof SdkHttpError)) return null;
  const { text } = error.data as { text?: unknown };
  if (typeof text !== 'string' || !text.startsWith('{')) return null;
  try {
    const { error: told } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    if (typeof told?.code !== 'number' || typeof told.message !== 'string') return null;
    return told.code === -32601 || told.code === -32602 ? { error: told as never } : null;
  } catch {
    return null;
  }
}

/** A session that has ended is answered with 404 by the specification, by some servers with 400, as is another revision. */
function mayHaveChanged(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  const { status } = error.data as { status?: unknown };
  return status === 404 || status === 400;
}

/** What the server answered as an error, where nobody is there to be told it as such. */
export function rejected(name: string, method: string, { code }: { readonly code: number }): RegistryError {
  return new RegistryError('unavailable', `The server ${name} refuses ${method} (JSON-RPC error ${code}).`);
}
