import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { RegistryError } from '../schema/errors.ts';
import { CLOSE, PING, PONG, Ring, retryAfterClose } from '../schema/push.ts';
import { type Http, Unpaired } from './http.ts';

export interface Listen {
  http: Http;
  /** The socket is open: whatever rang before was missed. */
  onOpen(): void;
  onRing(cursor: string): void;
  /** The registry closed the socket for good: it may no longer know this device. */
  onDoubt?(): void;
  /** Why the socket is not open, and in how many milliseconds it is tried again. */
  onClosed?(reason: string, retryInMs: number): void;
  signal: AbortSignal;
  /** From 0 up to 1. */
  random?: () => number;
  timing?: Partial<typeof TIMING>;
}

/** Milliseconds. */
const TIMING = { ping: 30_000, pong: 10_000, handshake: 15_000, retryFrom: 1000, retryTo: 300_000 };

/** How one socket ended. `lasted`: it was alive long enough for an answer, so that the next try need not wait long. */
interface End {
  reason: string;
  code: number;
  lasted: boolean;
  /** The registry refused the credentials at the door. */
  refused: boolean;
}

/**
 * Keeps a socket to the registry's doorbell open until the registry says stop: resolves to `unpaired` when it no longer knows
 * this device, to `replaced` when another socket of the same device took this one's place, to `stopped` on abort.
 * A closed or refused socket alone never means unpaired: only a fresh access token that is refused does.
 */
export async function listen(options: Listen): Promise<'unpaired' | 'replaced' | 'stopped'> {
  const { signal, onClosed, onDoubt, random = Math.random } = options;
  const timing = { ...TIMING, ...options.timing };
  let failures = 0;
  let renew = false;
  while (!signal.aborted) {
    const end = await attempt(options, timing, renew);
    if (signal.aborted) break;
    if (end instanceof Unpaired) return 'unpaired';
    if (end.code === CLOSE.replaced.code) return 'replaced';
    // The token may have ended before its time; a new one tells that from a device that is no longer paired.
    const doubtful = !retryAfterClose(end.code);
    if (doubtful) onDoubt?.();
    renew = end.refused || doubtful;
    if (end.lasted) failures = 0;
    failures++;
    const soon = renew && failures === 1;
    const most = Math.min(timing.retryTo, timing.retryFrom * 2 ** failures);
    const delay = soon ? 0 : timing.retryFrom + random() * (most - timing.retryFrom);
    onClosed?.(end.reason, delay);
    await sleep(delay, undefined, { signal }).catch(() => {});
  }
  return 'stopped';
}

async function attempt(
  { http, ...options }: Listen,
  timing: typeof TIMING,
  renew: boolean,
): Promise<End | Unpaired> {
  const url = `${http.origin}/api/v1/push`;
  try {
    if (renew) await http.renew();
    const headers = await http.headers('GET', url);
    // An abort that came before there was a socket to end would be missed.
    if (options.signal.aborted) return { reason: 'The agent stops.', code: 0, lasted: false, refused: false };
    return await connect(url, headers, { http, ...options }, timing);
  } catch (error) {
    if (error instanceof Unpaired) return error;
    if (!(error instanceof RegistryError)) throw error;
    return { reason: error.message, code: 0, lasted: false, refused: false };
  }
}

/** One socket, from the handshake to its end. */
function connect(
  url: string,
  headers: Record<string, string>,
  { http, onOpen, onRing, signal }: Listen,
  timing: typeof TIMING,
): Promise<End> {
  return new Promise((resolve) => {
    const options = {
      headers,
      handshakeTimeout: timing.handshake,
      // The close frame says all; the registry's side of the closing handshake may take long.
      closeTimeout: 200,
      maxPayload: 16 * 1024,
      perMessageDeflate: false,
    };
    const socket = new WebSocket(url.replace(/^http/, 'ws'), options);
    let lasted = false;
    let deadline: NodeJS.Timeout | undefined;
    const ping = setInterval(() => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(PING);
      deadline ??= setTimeout(() => end({ reason: 'The registry no longer answers.' }), timing.pong);
    }, timing.ping);

    const end = ({
      reason,
      code = 0,
      refused = false,
    }: {
      reason: string;
      code?: number;
      refused?: boolean;
    }) => {
      clearInterval(ping);
      clearTimeout(deadline);
      signal.removeEventListener('abort', abort);
      socket.removeAllListeners();
      // What a socket that is being torn down still says must not end the process.
      socket.on('error', () => {});
      socket.terminate();
      resolve({ reason, code, lasted, refused });
    };
    const abort = () => end({ reason: 'The agent stops.' });
    signal.addEventListener('abort', abort, { once: true });

    socket.on('upgrade', (response) => http.note(nonceOf(response.headers)));
    socket.on('unexpected-response', (_request, response) => {
      http.note(nonceOf(response.headers));
      response.resume();
      const status = response.statusCode ?? 0;
      end({ reason: `The registry answered ${status} to the socket.`, refused: status === 401 });
    });
    socket.on('open', onOpen);
    socket.on('message', (data, binary) => {
      const text = binary ? '' : String(data);
      lasted = true;
      if (text === PONG) {
        clearTimeout(deadline);
        deadline = undefined;
        return;
      }
      const ring = readRing(text);
      if (ring) onRing(ring.cursor);
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end({ reason: `The socket to the registry broke off (${error.code ?? error.message}).` }),
    );
    socket.on('close', (code, reason) =>
      end({
        reason: `The registry closed the socket (${code}${reason.length > 0 ? `, ${reason}` : ''}).`,
        code,
      }),
    );
  });
}

function nonceOf(headers: NodeJS.Dict<string | string[]>): string | null {
  const nonce = headers['dpop-nonce'];
  return typeof nonce === 'string' ? nonce : null;
}

function readRing(text: string): Ring | null {
  try {
    return Ring.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
