import {
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { RegistryError } from '../../schema/errors.ts';

/** The answer's stream ended before the answer. */
export class EndedEarly extends Error {
  override readonly name = 'EndedEarly';
}

/**
 * Why a server did not answer, in words that are ours: what it wrote may be long, hostile or hold our credential. A
 * RegistryError is itself.
 */
export function notAnswered(name: string, error: unknown): RegistryError {
  if (error instanceof RegistryError) return error;
  return new RegistryError('unavailable', `The server ${name} ${reasonOf(error)}`, {}, { cause: error });
}

/** Whether it says that a server does not answer now, so that something else may stand in or be left out. */
export function isDown(error: unknown): boolean {
  return error instanceof RegistryError && error.code === 'unavailable';
}

/** What a server is asked for; null when it does not answer now. */
export async function unlessDown<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isDown(error)) return null;
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UnauthorizedError) return 'does not accept the credential; set or connect it again.';
  if (error instanceof InsufficientScopeError)
    return 'wants more than its credential allows; connect it again.';
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return 'did not answer in time; try again later.';
  if (error instanceof EndedEarly)
    return 'broke off its answer, or gave more than 16 MiB; try again, or ask for less at a time.';
  if (error instanceof SdkHttpError) {
    const { status } = error.data as { status?: number };
    switch (status) {
      case 401:
      case 403:
        return 'does not accept the credential; set or connect it again.';
      case 301:
      case 302:
      case 303:
      case 307:
      case 308:
        return 'redirects to another place, where its credential must not go; set the address that it redirects to.';
      default:
        return `answered with HTTP ${status ?? 'of no known status'}; look whether its address is the MCP endpoint.`;
    }
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return 'did not answer in time; try again later.';
  return 'cannot be reached, or does not speak MCP over streamable HTTP; look at its address.';
}
