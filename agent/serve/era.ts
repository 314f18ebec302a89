import {
  type Client,
  LOG_LEVEL_META_KEY,
  type McpSubscription,
  type Result,
} from '@modelcontextprotocol/client';
import type { Caller } from './caller.ts';
import { type Asked, passOn } from './relay.ts';

/** The one revision of the modern era. */
export const MODERN = '2026-07-28';
/** Revisions of the legacy era, newest first. */
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** Who hears what the server says without being asked. */
export interface Listener {
  /** For a person. */
  name: string;
  caller: Caller;
  /** One sentence about the connection. */
  log: (sentence: string) => void;
  onRequest: (request: Asked, signal: AbortSignal) => Promise<Result>;
}

/** What a server is asked in other words when it is of the other era. */
interface Dialect {
  /** Says once how much the server shall log, where it wants that said once. */
  setLevel(client: Client, level: string): Promise<Result>;
  /** A request that says how much the server shall log, where each says it. */
  withLevel(asked: Asked, level: string): Asked;
  /** Subscribes to a resource. What it gives ends the subscription, where closing ends it. */
  follow(client: Client, uri: string): Promise<McpSubscription | null>;
  /** Lets the caller hear of changed lists, and be asked, as its own era has it. */
  listen(client: Client, to: Listener): Promise<void>;
}

const legacy: Dialect = {
  async setLevel(client, level) {
    if (!client.getServerCapabilities()?.logging) return {};
    return passOn({ method: 'logging/setLevel', params: { level } }, client);
  },
  withLevel: (asked) => asked,
  async follow(client, uri) {
    await passOn({ method: 'resources/subscribe', params: { uri } }, client);
    return null;
  },
  async listen() {},
};

const modern: Dialect = {
  async setLevel() {
    return {};
  },
  withLevel(asked, level) {
    const meta = asked.params?._meta as Record<string, unknown> | undefined;
    return { ...asked, params: { ...asked.params, _meta: { [LOG_LEVEL_META_KEY]: level, ...meta } } };
  },
  follow: (client, uri) => client.listen({ resourceSubscriptions: [uri] }),
  async listen(client, { caller, log, name, onRequest }) {
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
    if (caller.era === 'modern') return;
    const { elicitation, sampling, roots } = caller.capabilities;
    const ask = (request: Asked, { mcpReq }: { mcpReq: { signal: AbortSignal } }) =>
      onRequest(request, mcpReq.signal) as never;
    if (elicitation) client.setRequestHandler('elicitation/create', ask);
    if (sampling) client.setRequestHandler('sampling/createMessage', ask);
    if (roots) client.setRequestHandler('roots/list', ask);
  },
};

/** Whether this connection's server speaks revision 2026-07-28. */
export function isModern(client: Client): boolean {
  return client.getProtocolEra() === 'modern';
}

/** How this connection's server is spoken to. */
export function dialectOf(client: Client): Dialect {
  return isModern(client) ? modern : legacy;
}
