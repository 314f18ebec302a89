import type { z } from 'zod';
import { DeviceToken } from '../schema/api.ts';
import { Problem, RegistryError } from '../schema/errors.ts';
import type { DeviceKey } from './device-key.ts';

export type Credentials =
  | { type: 'device'; key: DeviceKey }
  /** A device that is not paired yet: proofs only, no access token. */
  | { type: 'key'; key: DeviceKey }
  | { type: 'bearer'; token: string };

export interface HttpOptions {
  /** Origin of the registry, with or without a slash at the end. */
  url: string;
  credentials: Credentials;
  fetch?: typeof fetch;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

export interface RequestOptions {
  body?: unknown;
  /** Sent as they are, instead of `body`. */
  bytes?: Uint8Array<ArrayBuffer>;
  query?: Record<string, string | undefined>;
  /** For how many seconds the answer may wait for what is asked for (RFC 7240 section 4.3). */
  wait?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The registry itself says that this device is no longer paired. */
export class Unpaired extends RegistryError {
  constructor(message: string, options?: ErrorOptions) {
    super('unauthorized', message, {}, options);
    this.name = 'Unpaired';
  }
}

const TIMEOUT_MS = 30_000;
/** An access token is renewed so long before it ends. */
const AHEAD_MS = 60_000;

/**
 * Requests to one registry, as one device or with one API token.
 * Guarantees: a proof carries the nonce of the last answer, and a request that is refused for its nonce is sent once more;
 * so is one whose access token is no longer taken. Access tokens are renewed ahead of their end, one renewal at a time.
 * Every failure is a RegistryError: `unavailable` when the registry cannot be reached, {@link Unpaired} when it no longer
 * knows the device, else what the registry said.
 */
export class Http {
  readonly origin: string;
  readonly #credentials: Credentials;
  readonly #fetch: typeof fetch;
  readonly #now: () => number;
  #nonce: string | undefined;
  #token: { value: string; renewAt: number } | null = null;
  #renewal: Promise<string> | null = null;

  constructor({ url, credentials, fetch = globalThis.fetch, now = Date.now }: HttpOptions) {
    this.origin = new URL(url).origin;
    this.#credentials = credentials;
    this.#fetch = fetch;
    this.#now = now;
  }

  /** Sends a request and reads its answer by a shape. */
  async json<T>(method: string, path: string, shape: z.ZodType<T>, options?: RequestOptions): Promise<T> {
    const response = await this.#answer(method, path, options);
    const parsed = shape.safeParse(await read(() => response.json(), this.#unavailable));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new RegistryError(
      'unavailable',
      `${this.#host} answered ${method} ${path} in a form that this version does not know (${issue?.path.join('.')}); update the older of the two.`,
    );
  }

  /** Sends a request whose answer is bytes. */
  async bytes(method: string, path: string, options?: RequestOptions): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.#answer(method, path, options);
    return new Uint8Array(await read(() => response.arrayBuffer(), this.#unavailable));
  }

  /** Sends a request whose answer does not matter. */
  async send(method: string, path: string, options?: RequestOptions): Promise<void> {
    const response = await this.#answer(method, path, options);
    await read(() => response.arrayBuffer(), this.#unavailable);
  }

  /** The `Authorization` and `DPoP` headers for one request, for a transport other than fetch. */
  async headers(method: string, url: string): Promise<Record<string, string>> {
    const credentials = this.#credentials;
    if (credentials.type === 'bearer') return { authorization: `Bearer ${credentials.token}` };
    if (credentials.type === 'key') return { dpop: await this.#proof(method, url) };
    const token = await this.#accessToken();
    return { authorization: `DPoP ${token}`, dpop: await this.#proof(method, url, token) };
  }

  /** Takes over the nonce for the next proof from an answer over another transport. */
  note(nonce: string | null | undefined): void {
    this.#nonce = nonce ?? this.#nonce;
  }

  /** Asks for a new access token now. @throws Unpaired when the registry refuses the device's key */
  async renew(): Promise<void> {
    this.#token = null;
    await this.#accessToken();
  }

  get #host(): string {
    return new URL(this.origin).host;
  }

  async #answer(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const response = await this.#exchange(method, path, options, (url) => this.headers(method, url));
    if (response.ok) return response;
    const device = this.#credentials.type === 'device';
    if (response.status !== 401 || !device) throw await this.#problem(response);
    await response.body?.cancel();
    await this.renew();
    const again = await this.#exchange(method, path, options, (url) => this.headers(method, url));
    if (again.ok) return again;
    throw await this.#problem(again);
  }

  #accessToken(): Promise<string> {
    const known = this.#token;
    if (known && this.#now() < known.renewAt) return Promise.resolve(known.value);
    this.#renewal ??= this.#buyToken().finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  async #buyToken(): Promise<string> {
    const path = '/api/v1/devices/token';
    const response = await this.#exchange('POST', path, {}, async (url) => ({
      dpop: await this.#proof('POST', url),
    }));
    if (response.status === 401) {
      const problem = await this.#problem(response);
      const refused = problem.code === 'unauthorized' && problem.details.nonce === undefined;
      throw refused ? new Unpaired(problem.message, { cause: problem }) : problem;
    }
    if (!response.ok) throw await this.#problem(response);
    const token = DeviceToken.safeParse(await read(() => response.json(), this.#unavailable));
    if (!token.success) throw this.#unavailable('its answer is no access token');
    const life = token.data.expires_in * 1000;
    this.#token = {
      value: token.data.access_token,
      renewAt: this.#now() + Math.max(life - AHEAD_MS, life / 2),
    };
    return token.data.access_token;
  }

  /** One request, sent again once when it was refused for its nonce alone. */
  async #exchange(
    method: string,
    path: string,
    options: RequestOptions,
    headers: (url: string) => Promise<Record<string, string>>,
  ): Promise<Response> {
    const first = await this.#fetchOnce(method, path, options, headers);
    if (first.status !== 401 || !first.headers.get('www-authenticate')?.includes('use_dpop_nonce'))
      return first;
    await first.body?.cancel();
    return this.#fetchOnce(method, path, options, headers);
  }

  async #fetchOnce(
    method: string,
    path: string,
    { body, bytes, query = {}, wait = 0, signal }: RequestOptions,
    headers: (url: string) => Promise<Record<string, string>>,
  ): Promise<Response> {
    const url = new URL(path, this.origin);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const sent = await headers(url.href);
    const content = bytes ?? (body === undefined ? null : JSON.stringify(body));
    if (content !== null)
      sent['content-type'] = bytes === undefined ? 'application/json' : 'application/octet-stream';
    if (wait > 0) sent.prefer = `wait=${wait}`;
    let response: Response;
    try {
      response = await this.#fetch(url, {
        method,
        headers: sent,
        body: content,
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#unavailable(error);
    }
    this.note(response.headers.get('dpop-nonce'));
    return response;
  }

  #proof(method: string, url: string, token?: string): Promise<string> {
    if (this.#credentials.type === 'bearer') throw new Error('an API token signs no proofs');
    return this.#credentials.key.proof({ method, url, token, nonce: this.#nonce, at: this.#now() });
  }

  async #problem(response: Response): Promise<RegistryError> {
    const body: unknown = await response.json().catch(() => null);
    const problem = Problem.safeParse(body);
    if (problem.success)
      return new RegistryError(problem.data.code, problem.data.detail, problem.data.details);
    return new RegistryError(
      'unavailable',
      `${this.#host} answered ${response.status}, but not as a Repertoire registry does; check the URL, or try again in a moment.`,
    );
  }

  readonly #unavailable = (cause: unknown): RegistryError =>
    new RegistryError(
      'unavailable',
      `The registry at ${this.#host} cannot be reached (${reason(cause)}); check the network and that it runs.`,
      {},
      { cause },
    );
}

async function read<T>(act: () => Promise<T>, unavailable: (cause: unknown) => RegistryError): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw unavailable(error);
  }
}

/** fetch says "fetch failed" and keeps what happened in the cause. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer in ${TIMEOUT_MS / 1000} seconds`;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  // The message of an error without a cause may quote a header, and with it a token.
  return cause?.code ?? cause?.message ?? 'the request cannot be sent';
}
