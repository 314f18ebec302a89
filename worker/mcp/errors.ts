import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { ErrorCode, RegistryError } from '../../schema/errors.ts';
import { refusalOf } from '../log.ts';

/**
 * How a refusal travels: `answer` as the HTTP answer to the whole request, with the challenge that a client signs in
 * by; `result` as what a model can read and act on; `fault` as an internal error.
 */
function routeOf(code: ErrorCode): 'answer' | 'result' | 'fault' {
  switch (code) {
    case 'unauthorized':
    case 'insufficient_scope':
    case 'access_denied':
      return 'answer';
    case 'invalid_input':
    case 'invalid_name':
    case 'invalid_path':
    case 'invalid_front_matter':
    case 'path_collision':
    case 'too_large':
    case 'name_change':
    case 'name_taken':
    case 'ambiguous_name':
    case 'not_found':
    case 'conflict':
    case 'credential':
    case 'confirmation_required':
    case 'registry_rewound':
    case 'rate_limited':
    case 'unavailable':
      return 'result';
    case 'authorization_pending':
    case 'slow_down':
    case 'expired_token':
    case 'passkey_required':
    case 'internal':
      return 'fault';
  }
}

/** The result of a call that was refused: a model can read the sentence and act on it. */
export function refusedCall(sentence: string): CallToolResult {
  return { content: [{ type: 'text', text: sentence }], isError: true };
}

/** Turns what verbs throw into what MCP says, for the handlers of one request. */
export class Refusals {
  #answer: RegistryError | null = null;

  /** The text of a tool's result, or the sentence of its refusal. @throws ProtocolError for a fault */
  async tool(work: () => Promise<string>): Promise<CallToolResult> {
    try {
      return { content: [{ type: 'text', text: await work() }] };
    } catch (error) {
      return refusedCall(this.#sentence(error));
    }
  }

  /** The result of a method that is no tool call. @throws ProtocolError */
  async method<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, this.#sentence(error));
    }
  }

  /** @throws RegistryError that the whole request is answered with, whatever its handlers made of it */
  raise(): void {
    if (this.#answer) throw this.#answer;
  }

  #sentence(error: unknown): string {
    const refusal = refusalOf(error);
    const route = routeOf(refusal.code);
    if (route === 'fault') throw new ProtocolError(ProtocolErrorCode.InternalError, refusal.message);
    if (route === 'answer') this.#answer ??= refusal;
    return refusal.message;
  }
}
