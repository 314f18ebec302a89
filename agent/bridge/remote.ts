import { readDeviceKey } from '../device-key.ts';
import { Http } from '../http.ts';
import type { DeviceRecord, StateFiles } from '../state.ts';

/** The registry did not answer, or something else did. `sent`: the request may have reached it nevertheless. */
export class Unreachable extends Error {
  readonly sent: boolean;
  constructor(sent: boolean, options?: ErrorOptions) {
    super('The registry cannot be reached.', options);
    this.name = 'Unreachable';
    this.sent = sent;
  }
}

/** The registry's answer, read whole. */
export interface Answer {
  status: number;
  /** Without parameters, lower case. */
  type: string;
  body: ArrayBuffer;
}

export interface Remote {
  readonly device: string;
  /**
   * Posts one message with the device's proof. A refusal for a nonce or an old access token did nothing, so the message is
   * sent once more then.
   * @throws Unreachable, Unpaired, RegistryError
   */
  post(message: RequestInit, options: { signal: AbortSignal; waitMs: number }): Promise<Answer>;
}

/** Causes of a failed fetch that come before the first byte of a request leaves. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The remote `/mcp` of the registry that a device is paired with; null when its key is gone. */
export async function openRemote(
  files: StateFiles,
  device: DeviceRecord,
  fetch: typeof globalThis.fetch,
): Promise<Remote | null> {
  const key = await readDeviceKey(files.key);
  if (!key) return null;
  const http = new Http({ url: device.url, credentials: { type: 'device', key }, fetch });
  const url = new URL('/mcp', http.origin).href;

  async function once(message: RequestInit, signal: AbortSignal): Promise<Response> {
    const headers = new Headers(message.headers);
    for (const [name, value] of Object.entries(await signed())) headers.set(name, value);
    // A wait that ended while the token was renewed must not let the message out any more.
    signal.throwIfAborted();
    try {
      const response = await fetch(url, { ...message, headers, redirect: 'error', signal });
      http.note(response.headers.get('dpop-nonce'));
      return response;
    } catch (cause) {
      const code = ((cause as Error).cause as NodeJS.ErrnoException | undefined)?.code;
      throw new Unreachable(!NEVER_SENT.has(code ?? ''), { cause });
    }
  }

  const signed = () => unsent(http.headers('POST', url));

  async function exchange(message: RequestInit, signal: AbortSignal): Promise<Answer> {
    let response = await once(message, signal);
    for (let tries = 0; response.status === 401 && tries < 2; tries++) {
      const nonce = response.headers.get('www-authenticate')?.includes('use_dpop_nonce');
      await response.body?.cancel();
      if (!nonce) await unsent(http.renew());
      response = await once(message, signal);
    }
    const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
    try {
      return { status: response.status, type, body: await response.arrayBuffer() };
    } catch (cause) {
      throw new Unreachable(true, { cause });
    }
  }

  return {
    device: device.device,
    async post(message, { signal, waitMs }) {
      const timeout = AbortSignal.timeout(waitMs);
      const stop = AbortSignal.any([signal, timeout]);
      const answer = exchange(message, stop);
      // A renewal of the token knows no signal.
      answer.catch(() => {});
      return Promise.race([answer, ended(stop)]);
    },
  };
}

/** What fails before the message itself is sent. */
async function unsent<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if ((cause as { code?: string }).code === 'unavailable') throw new Unreachable(false, { cause });
    throw cause;
  }
}

function ended(signal: AbortSignal): Promise<never> {
  const fail = () => new Unreachable(true, { cause: signal.reason });
  if (signal.aborted) return Promise.reject(fail());
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(fail()), { once: true });
  });
}
