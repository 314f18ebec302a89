import {
  type Client,
  type Implementation,
  type McpSubscription,
  type Result,
  type ServerCapabilities,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client';
import { type DialOptions, dial } from './dial.ts';
import { dialectOf, isModern, MODERN } from './era.ts';
import { everyPage } from './lists.ts';
import { type Asked, type PassOptions, passOn } from './relay.ts';
import { forgotten, notAnswered, UpstreamGone } from './upstream-error.ts';

/** For a server that is told that its session is over. */
const GOODBYE_MS = 1_000;

/** For a page of a list, which nobody waits for as they do for a call. */
const LIST_MS = 60_000;

const MOST_WORDS = 8;

/** What the server says about itself. */
export interface Greeting {
  capabilities: ServerCapabilities;
  info: Implementation | undefined;
  instructions: string | undefined;
  version: string;
}

/**
 * The server behind us. It is started with `greet`, and once more with the next request when it has ended or forgotten the
 * session; the log level and the subscriptions are then told again. A request that was under way when it ended fails: it
 * may have been done.
 */
export class Upstream {
  readonly #options: DialOptions;
  #client: Promise<Client> | null = null;
  #opening: Client | null = null;
  readonly #noted = new Set<string>();
  #closed = false;
  #level: string | null = null;
  readonly #followed = new Map<string, McpSubscription | null>();

  constructor(options: DialOptions) {
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
    const told = this.#level === null ? asked : dialectOf(client).withLevel(asked, this.#level);
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
  list<Entry>(
    method: string,
    key: string,
    options: PassOptions = {},
  ): Promise<{ entries: Entry[]; rest: Record<string, unknown> }> {
    return everyPage<Entry>(
      { method, key },
      (page) => this.request(page, { timeout: LIST_MS, ...options }),
      (words) => this.#note(words),
    );
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
    return dialectOf(client).setLevel(client, level);
  }

  /** Subscribes to a resource, in the way of the server's own revision. */
  async follow(uri: string): Promise<Result> {
    if (this.#followed.has(uri)) return {};
    const client = await this.#connected();
    this.#followed.set(uri, null);
    await this.#follow(client, uri);
    return {};
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

  async #follow(client: Client, uri: string): Promise<void> {
    const subscription = await dialectOf(client).follow(client, uri);
    if (subscription) this.#followed.set(uri, subscription);
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
    const { log, name } = this.#options;
    const client = await dial(this.#options, {
      opening: (opening) => {
        this.#opening = opening;
      },
      closed: () => this.#closed,
      onError: ({ message }) => this.#note(message.split('\n')[0] as string),
      onClose: () => {
        if (this.#closed) return;
        this.#client = null;
        log(`${name} has ended; the next request starts it again.`);
      },
    });
    await this.#resume(client);
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
    const dialect = dialectOf(client);
    await dialect.listen(client, this.#options);
    if (this.#level !== null) await dialect.setLevel(client, this.#level).catch(() => {});
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
    return notAnswered(name, reach, error);
  }
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
