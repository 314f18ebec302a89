import { Client, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { LEGACY, type Listener, MODERN } from './era.ts';
import type { Reach } from './reach.ts';
import type { Asked } from './relay.ts';
import { refusesRevision, unreachable } from './upstream-error.ts';

/** For a server that says nothing at all to a question of the newer revision. */
const PROBE_MS = 3_000;

export interface DialOptions extends Listener {
  reach: Reach;
  /** A line that the server's program wrote for people. */
  said: (line: string) => void;
  onNotification: (notification: Asked) => void;
}

/** Who holds the connection. */
interface Holder {
  /** What is being opened, so that it can be closed before it is open; null when that is over. */
  opening: (client: Client | null) => void;
  closed: () => boolean;
  /** The server sent what is no message of the protocol. */
  onError: (error: Error) => void;
  onClose: () => void;
}

/**
 * Opens a connection to the server in the first revision that it takes. The client's goes first, so that as little as
 * possible has to be told in other words.
 * @throws UpstreamGone
 */
export async function dial(options: DialOptions, holder: Holder): Promise<Client> {
  const { caller, name, reach } = options;
  const [first, second]: [VersionNegotiationMode, VersionNegotiationMode] =
    caller.era === 'modern' ? ['auto', 'legacy'] : ['legacy', { pin: MODERN }];
  try {
    return await open(first, options, holder);
  } catch (error) {
    if (holder.closed() || !refusesRevision(error)) throw unreachable(name, reach, error);
    return await open(second, options, holder).catch(() => {
      throw unreachable(name, reach, error);
    });
  }
}

async function open(
  mode: VersionNegotiationMode,
  { caller, reach, said, onNotification, onRequest }: DialOptions,
  holder: Holder,
): Promise<Client> {
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
  client.fallbackNotificationHandler = async (notification) => onNotification(notification);
  client.fallbackRequestHandler = async (request, { mcpReq: { signal } }) =>
    (await onRequest(request, signal)) as never;
  holder.opening(client);
  try {
    await client.connect(reach.open(said), { timeout: 60_000 });
  } finally {
    holder.opening(null);
  }
  client.onerror = holder.onError;
  client.onclose = holder.onClose;
  return client;
}
