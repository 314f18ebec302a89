import {
  Client,
  type ClientCapabilities,
  type Implementation,
  LOG_LEVEL_META_KEY,
  type McpSubscription,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type ServerCapabilities,
  StreamableHTTPClientTransport,
  type Tool,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import type { Reach } from './reach.ts';
import { type Asked, brokeOff, type PassOptions, passOn } from './relay.ts';

/** Newest first; what a client of another revision asks for is tried before them. */
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const MODERN = '2026-07-28';

/** For a server that says nothing at all to a question of the newer revision. */
const PROBE_MS = 3_000;

/** For a server that is told that its session is over. */
const GOODBYE_MS = 1_000;

/** For a page of a list, which nobody waits for as they do for a call. */
const LIST_MS = 60_000;

/** A list that goes on longer than this never ends. */
const MOST_PAGES = 64;
const MOST_ENTRIES = 10_000;
const MOST_WORDS = 8;

export type Era = 'legacy' | 'modern';

/** The program that is served: the server is told of it as if nothing stood between. */
export interface Caller {
  era: Era;
  info: Implementation;
  capabilities: ClientCapabilities;
  /** Protocol revision that it asked for. */
  version?: string | undefined;
}

export interface UpstreamOptions {
  /** For a person. */
  name: string;
  reach: Reach;
  caller: Caller;
  /** A line that the server's program wrote for people. */
  said: (line: string) => void;
  /** One sentence about the connection. */
  log: (sentence: string) => void;
  onNotification: (notification: Asked) => void;
  onRequest: (request: Asked, signal: AbortSignal) => Promise<Result>;
}

/** What the server says about itself. */
export interface Greeting {
  capabilities: ServerCapabilities;
  info: Implementation | undefined;
  instructions: string | undefined;
  version: string;
}

/** The server could not be spoken to. The message is one sentence. */
export class UpstreamGone extends Error {
  override readonly name = 'UpstreamGone';
}

/**
 * The server behind us. It is started with `greet`, and once more with the next request when it has ended or forgotten the
 * session; the log level and the subscriptions are then told again. A request that was under way when it ended fails: it
 * may have been done.
 */
export class Upstream {
  readonly #options: UpstreamOptions;
  #client: Promise<Client> | null = null;
  #opening: Client | null = null;
  readonly #noted = new Set<string>();
  #closed = false;
  #level: string | null = null;
  readonly #followed = new Map<string, McpSubscription | null>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** @throws UpstreamGone */
  async greet(): Promise<Greeting> {
    const client = await this.#connected();
    return {
      capabilities: client.getServerCapabilities() ?? {},
      info: client.getServerVersion(),
      instructions: client.getInstructions(),
      version: client.getNegotiatedProtocolVersion() ?? MODERN,
    };
  }

  /** Passes a request on. @throws UpstreamGone, or the server's own error */
  async request(asked: Asked, options: PassOptions = {}): Promise<Result> {
    const client = await this.#connected();
    const own = ownMeaning(client, asked);
    if (own) return own(this);
    const told = this.#level !== null && isModern(client) ? withLevel(asked, this.#level) : asked;
    const how = { ...options, asksInResult: this.#options.caller.era === 'modern' };
    try {
      const result = await passOn(told, client, how);
      this.#remember(asked);
      return result;
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (!forgotten(error)) throw this.#judge(error);
    }
    await this.#drop(client);
    return await passOn(told, await this.#connected(), how).catch((error) => {
      throw this.#judge(error);
    });
  }

  /** Every page of a list, in one; the other keys are those of the first page. */
  async list<Entry>(
    method: string,
    key: string,
    options: PassOptions = {},
  ): Promise<{ entries: Entry[]; rest: Record<string, unknown> }> {
    const entries: Entry[] = [];
    let rest: Record<string, unknown> | undefined;
    let cursor: unknown;
    for (let page = 0; page < MOST_PAGES && entries.length < MOST_ENTRIES; page++) {
      const params = cursor === undefined ? {} : { params: { cursor } };
      const {
        [key]: found,
        nextCursor,
        ...others
      } = await this.request({ method, ...params }, { timeout: LIST_MS, ...options });
      rest ??= others;
      for (const each of Array.isArray(found) ? found : []) {
        if (entries.length >= MOST_ENTRIES) break;
        const entry = named(each);
        if (entry) entries.push(entry as Entry);
        else this.#note(`an entry without a name in the answer to ${method} is left out.`);
      }
      const last = nextCursor === undefined || nextCursor === null;
      if (last && entries.length < MOST_ENTRIES) return { entries, rest };
      if (last || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    this.#note(
      `the answer to ${method} goes on and on; what comes after its first ${entries.length} entries is left out.`,
    );
    return { entries, rest: rest ?? {} };
  }

  /** Its tools, or none when it says that it has none. */
  async tools(): Promise<Tool[]> {
    const { capabilities } = await this.greet();
    return capabilities.tools ? (await this.list<Tool>('tools/list', 'tools')).entries : [];
  }

  async notify(notification: Asked): Promise<void> {
    const client = await this.#connected();
    const { method, params } = notification;
    // What this server never declared to take is of no use to it.
    await client.notification({ method, ...(params && { params }) }).catch(() => undefined);
  }

  /** How much the server shall log, in the way of its own revision. */
  async setLevel(level: string): Promise<Result> {
    if (level === this.#level) return {};
    this.#level = level;
    const client = await this.#connected();
    if (isModern(client) || !client.getServerCapabilities()?.logging) return {};
    return passOn({ method: 'logging/setLevel', params: { level } }, client);
  }

  /** Subscribes to a resource, in the way of the server's own revision. */
  async follow(uri: string): Promise<Result> {
    if (this.#followed.has(uri)) return {};
    const client = await this.#connected();
    this.#followed.set(uri, null);
    return this.#follow(client, uri);
  }

  async unfollow(uri: string): Promise<Result> {
    const subscription = this.#followed.get(uri);
    this.#followed.delete(uri);
    await subscription?.close();
    return {};
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.close();
    const client = await this.#client?.catch(() => null);
    const transport = client?.transport;
    if (transport instanceof StreamableHTTPClientTransport) {
      const soon = new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref());
      await Promise.race([transport.terminateSession().catch(() => {}), soon]);
    }
    await client?.close();
  }

  async #follow(client: Client, uri: string): Promise<Result> {
    if (!isModern(client)) return passOn({ method: 'resources/subscribe', params: { uri } }, client);
    this.#followed.set(uri, await client.listen({ resourceSubscriptions: [uri] }));
    return {};
  }

  #connected(): Promise<Client> {
    if (this.#closed) throw new UpstreamGone(`${this.#options.name} is no longer served.`);
    this.#client ??= this.#connect().catch((error) => {
      this.#client = null;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const { caller, name, reach } = this.#options;
    // The revision of the client first, so that as little as possible has to be told in other words.
    const [first, second]: VersionNegotiationMode[] =
      caller.era === 'modern' ? ['auto', 'legacy'] : ['legacy', { pin: MODERN }];
    let client: Client;
    try {
      client = await this.#open(first as VersionNegotiationMode);
    } catch (error) {
      if (this.#closed || !refusesRevision(error)) throw unreachable(name, reach, error);
      client = await this.#open(second as VersionNegotiationMode).catch(() => {
        throw unreachable(name, reach, error);
      });
    }
    await this.#resume(client);
    return client;
  }

  async #open(mode: VersionNegotiationMode): Promise<Client> {
    const { caller, name, reach, said, log } = this.#options;
    const { version } = caller;
    const client = new Client(caller.info, {
      capabilities: caller.era === 'legacy' ? caller.capabilities : {},
      versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } },
      supportedProtocolVersions: [
        MODERN,
        ...(version !== undefined && LEGACY.includes(version) ? [version] : []),
        ...LEGACY.filter((each) => each !== version),
      ],
    });
    client.removeNotificationHandler('notifications/progress');
    client.fallbackNotificationHandler = async (notification) => this.#options.onNotification(notification);
    client.fallbackRequestHandler = async (request, { mcpReq: { signal } }) =>
      (await this.#options.onRequest(request, signal)) as never;
    this.#opening = client;
    try {
      await client.connect(reach.open(said), { timeout: 60_000 });
    } finally {
      this.#opening = null;
    }
    client.onerror = ({ message }) => this.#note(message.split('\n')[0] as string);
    client.onclose = () => {
      if (this.#closed) return;
      this.#client = null;
      log(`${name} has ended; the next request starts it again.`);
    };
    return client;
  }

  /** Of a server that sends what is no message of the protocol, or no list, a few words are enough. */
  #note(words: string): void {
    const { log, name } = this.#options;
    if (this.#noted.size >= MOST_WORDS || this.#noted.has(words)) return;
    this.#noted.add(words);
    log(`${name}: ${words}`);
  }

  /** What the session before knew, and what a server of the newer revision tells only to those who listen. */
  async #resume(client: Client): Promise<void> {
    const { caller, log, name, onRequest } = this.#options;
    if (isModern(client)) {
      const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
      const filter = {
        ...(tools?.listChanged && { toolsListChanged: true }),
        ...(prompts?.listChanged && { promptsListChanged: true }),
        ...(resources?.listChanged && { resourcesListChanged: true }),
      };
      if (Object.keys(filter).length > 0) {
        await client.listen(filter).catch(() => log(`${name} does not tell when its lists change.`));
      }
      // Asked for in a result by this server, and in a request by the client's revision.
      if (caller.era === 'legacy') {
        const { elicitation, sampling, roots } = caller.capabilities;
        const ask = (request: Asked, { mcpReq }: { mcpReq: { signal: AbortSignal } }) =>
          onRequest(request, mcpReq.signal) as never;
        if (elicitation) client.setRequestHandler('elicitation/create', ask);
        if (sampling) client.setRequestHandler('sampling/createMessage', ask);
        if (roots) client.setRequestHandler('roots/list', ask);
      }
    } else if (this.#level !== null && client.getServerCapabilities()?.logging) {
      await passOn({ method: 'logging/setLevel', params: { level: this.#level } }, client).catch(() => {});
    }
    for (const uri of this.#followed.keys()) await this.#follow(client, uri).catch(() => {});
  }

  /** For the session after this one. */
  #remember({ method, params }: Asked): void {
    const { uri } = params ?? {};
    if (typeof uri !== 'string') return;
    if (method === 'resources/subscribe') this.#followed.set(uri, null);
    if (method === 'resources/unsubscribe') this.#followed.delete(uri);
  }

  async #drop(client: Client): Promise<void> {
    this.#client = null;
    client.onclose = () => {};
    await client.close().catch(() => {});
  }

  #judge(error: unknown): unknown {
    const { name, reach } = this.#options;
    if (error instanceof ProtocolError) return error;
    if (brokeOff(error)) {
      return new UpstreamGone(
        `${name} ended before it answered, so it is not known whether this was done; the next request starts it again.`,
      );
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
      return new UpstreamGone(`${name} did not answer in time.`, { cause: error });
    }
    if (error instanceof SdkError && !(error instanceof SdkHttpError)) {
      const [line] = error.message.split('\n');
      return new UpstreamGone(`${name} gave an answer that cannot be passed on: ${line}`);
    }
    return unreachable(name, reach, error);
  }
}

/** An entry of a list as something that can be shown; null for what cannot be called or asked for by anybody. */
function named(entry: unknown): object | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { name, description, ...others } = entry as Record<string, unknown>;
  if (typeof name !== 'string') return null;
  return description === undefined || typeof description === 'string' ? entry : { name, ...others };
}

/** Requests of the older revisions that are made otherwise in the newer one. */
function ownMeaning(
  client: Client,
  { method, params }: Asked,
): ((upstream: Upstream) => Promise<Result>) | null {
  const { level, uri } = params ?? {};
  if (method === 'logging/setLevel' && typeof level === 'string' && client.getServerCapabilities()?.logging) {
    return (upstream) => upstream.setLevel(level);
  }
  if (!isModern(client) || typeof uri !== 'string') return null;
  if (method === 'resources/subscribe') return (upstream) => upstream.follow(uri);
  return method === 'resources/unsubscribe' ? (upstream) => upstream.unfollow(uri) : null;
}

function isModern(client: Client): boolean {
  return client.getProtocolEra() === 'modern';
}

function withLevel(asked: Asked, level: string): Asked {
  const meta = asked.params?._meta as Record<string, unknown> | undefined;
  return { ...asked, params: { ...asked.params, _meta: { [LOG_LEVEL_META_KEY]: level, ...meta } } };
}

/** The server lost the session: nothing was done, and a new one may be opened. */
function forgotten(error: unknown): boolean {
  return error instanceof SdkHttpError && error.data.status === 404;
}

/** The server speaks, but not this revision. */
function refusesRevision(error: unknown): boolean {
  if (error instanceof ProtocolError) {
    return [ProtocolErrorCode.UnsupportedProtocolVersion, ProtocolErrorCode.MethodNotFound].includes(
      error.code,
    );
  }
  if (error instanceof SdkHttpError) return [400, 404, 405, 415].includes(error.data.status ?? 0);
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

function unreachable(name: string, { label }: Reach, error: unknown): UpstreamGone {
  const { code, cause, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'ENOENT'
      ? 'there is no such program'
      : code === 'EACCES'
        ? 'it may not be run'
        : error instanceof SdkHttpError
          ? `it answered with HTTP ${error.data.status}`
          : brokeOff(error)
            ? 'it ended before it answered'
            : String((cause as Error | undefined)?.message ?? message)
                .split('\n', 1)[0]
                ?.replace(/\.$/, '');
  return new UpstreamGone(`${name} (${label}) cannot be reached: ${why}.`, { cause: error });
}
