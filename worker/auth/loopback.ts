import { RegistryError } from '../../schema/errors.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Guards a registry that runs on a person's own machine: only pages and programs of that machine reach it. A web page
 * elsewhere would come with its own Origin, or, by DNS rebinding, with its own Host.
 * @throws RegistryError `access_denied`
 */
export function requireLoopback(request: Request): void {
  const origin = request.headers.get('origin');
  // Two Host headers make an address that is none.
  if (isLoopback(request.url) && (origin === null || isLoopback(origin))) return;
  throw new RegistryError(
    'access_denied',
    'This registry answers on this machine only: call it as localhost or 127.0.0.1, and not from a web page elsewhere.',
  );
}

/** Whether an address or origin is of this machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && LOOPBACK.has(new URL(url).hostname);
}
