import { localhostAllowedHostnames, validateOriginHeader } from '@modelcontextprotocol/server';
import { RegistryError } from '../schema/errors.ts';
import { arrived } from './size-limit.ts';

/** What every MCP endpoint checks and reads of a request before it knows what is asked. */

/**
 * A browser sends the origin of the page that calls: only the registry's own and local tools' pages may.
 * @throws RegistryError `access_denied`
 */
export function requireOwnOrigin(request: Request): void {
  const own = [new URL(request.url).hostname, ...localhostAllowedHostnames()];
  if (validateOriginHeader(request.headers.get('origin'), own).ok) return;
  throw new RegistryError(
    'access_denied',
    'MCP requests of web pages elsewhere are refused; connect from an MCP client.',
  );
}

export const PARSE_ERROR = {
  jsonrpc: '2.0',
  error: { code: -32700, message: 'Parse error: the body is no JSON text in UTF-8.' },
  id: null,
} as const;

/** The messages of a POST; null when the body is no JSON text in UTF-8. */
export interface Messages {
  /** For the SDK, which never answers a request that the same batch cancels, nor the batch. */
  readonly body: unknown;
  readonly messages: readonly unknown[];
  readonly methods: readonly string[];
}

/** Reads the body once. Other methods than POST carry none. */
export async function readMessages(request: Request): Promise<Messages | null> {
  if (request.method !== 'POST') return { body: undefined, messages: [], methods: [] };
  const bytes = await arrived(request.arrayBuffer());
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return null;
  }
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  const others = messages.filter((message) => !methodOf(message).includes('notifications/cancelled'));
  const isMixed = others.length > 0 && others.length < messages.length;
  return { body: isMixed ? others : body, messages, methods: messages.flatMap(methodOf) };
}

/** The method of a message; none of one that is no request or notification. */
export function methodOf(message: unknown): string[] {
  const { method } = (message ?? {}) as { method?: unknown };
  return typeof method === 'string' ? [method] : [];
}

/** Methods whose answer tells what the server is, with its `instructions`. */
export const HANDSHAKES: readonly string[] = ['initialize', 'server/discover'];

/** The name of the tool that a message calls; null when it calls none. */
export function toolCalled(message: unknown): string | null {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } };
  const name = params?.name;
  return method === 'tools/call' && typeof name === 'string' ? name : null;
}

/** Parameters that a tool's schema marks `x-mcp-header` are repeated in headers (revision 2026-07-28). */
export function mirroredBy(request: Request): Record<string, string> {
  return Object.fromEntries([...request.headers].filter(([name]) => name.startsWith('mcp-param-')));
}
