import { type Result, SdkError, SdkErrorCode, type StandardSchemaV1Sync } from '@modelcontextprotocol/client';

/** A request as it came, whatever its method. */
export interface Asked {
  readonly method: string;
  readonly params?: Record<string, unknown> | undefined;
}

/** One side of a connection, as far as passing on needs it. */
export interface Side {
  request(
    request: { method: string; params?: Record<string, unknown> },
    result: StandardSchemaV1Sync<unknown, Result>,
    options: {
      signal?: AbortSignal;
      timeout: number;
      allowInputRequired?: boolean;
      headers?: Record<string, string>;
    },
  ): Promise<Result>;
  notification(notification: { method: string; params?: Record<string, unknown> }): Promise<void>;
}

/** Takes any result as it is: who asked judges it, not who passes it on. */
const AS_IT_IS: StandardSchemaV1Sync<unknown, Result> = {
  '~standard': { version: 1, vendor: 'repertoire', validate: (value) => ({ value: value as Result }) },
};

/** Who asked knows how long to wait; a timer takes no more than this. Milliseconds. */
const AS_LONG_AS_THEY_WAIT = 2 ** 31 - 1;

export interface PassOptions {
  signal?: AbortSignal;
  /** Milliseconds; without it, as long as it takes. */
  timeout?: number;
  /** An answer that asks something first is passed on as well, rather than fulfilled by the other side's requests. */
  asksInResult?: boolean;
  /** Of this request alone, over HTTP. */
  headers?: Record<string, string>;
}

/** Passes a request on, and gives the answer unchanged. Progress needs no help: its token is passed on as well. */
export function passOn(
  { method, params }: Asked,
  to: Side,
  { signal, timeout = AS_LONG_AS_THEY_WAIT, asksInResult = false, headers }: PassOptions = {},
): Promise<Result> {
  return to.request({ method, ...(params && { params }) }, AS_IT_IS, {
    timeout,
    allowInputRequired: asksInResult,
    ...(signal && { signal }),
    ...(headers && { headers }),
  });
}

/** Whether the connection broke, so that nobody knows what became of the request. */
export function brokeOff(error: unknown): boolean {
  return (
    error instanceof SdkError &&
    (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected)
  );
}
