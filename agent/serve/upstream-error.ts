import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import type { Reach } from './reach.ts';
import { brokeOff } from './relay.ts';

/** The server could not be spoken to. The message is one sentence. */
export class UpstreamGone extends Error {
  override readonly name = 'UpstreamGone';
}

/** Why a request that was under way has no answer: the server's own error as it is, anything else in one sentence. */
export function notAnswered(name: string, reach: Reach, error: unknown): unknown {
  if (error instanceof ProtocolError) return error;
  if (brokeOff(error)) {
    return new UpstreamGone(
      `${name} ended before it answered, so it is not known whether this was done; the next request starts it again.`,
    );
  }
  if (tooLate(error)) {
    return new UpstreamGone(`${name} did not answer in time.`, { cause: error });
  }
  if (error instanceof SdkError && !(error instanceof SdkHttpError)) {
    const [line] = error.message.split('\n');
    return new UpstreamGone(`${name} gave an answer that cannot be passed on: ${line}`);
  }
  return unreachable(name, reach, error);
}

export function unreachable(name: string, { label }: Reach, error: unknown): UpstreamGone {
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
            : tooLate(error)
              ? 'it did not answer in time'
              : String((cause as Error | undefined)?.message ?? message)
                  .split('\n', 1)[0]
                  ?.replace(/\.$/, '');
  return new UpstreamGone(`${name} (${label}) cannot be reached: ${why}.`, { cause: error });
}

function tooLate(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** The server lost the session: nothing was done, and a new one may be opened. */
export function forgotten(error: unknown): boolean {
  return error instanceof SdkHttpError && error.data.status === 404;
}

/** The server speaks, but not this revision. */
export function refusesRevision(error: unknown): boolean {
  if (error instanceof ProtocolError) {
    return [ProtocolErrorCode.UnsupportedProtocolVersion, ProtocolErrorCode.MethodNotFound].includes(
      error.code,
    );
  }
  if (error instanceof SdkHttpError) return [400, 404, 405, 415].includes(error.data.status ?? 0);
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}
