import { RegistryError } from '../../schema/errors.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Guards a registry that runs on a person's own machine: only pages and programs of that machine reach it. A web page
 * elsewhere would come with its own Origin, or, by DNS rebinding, with its own Host.
 * @throws RegistryError `access_denied`
 */
export function requireLoopback(request: Request): void {
  const { hostname } = new URL(request.url);
  const origin = request.headers.get('origin');
  if (LOOPBACK.has(hostname) && (origin === null || isLoopback(origin))) return;
  throw new RegistryError(
    'access_denied',
    'This registry answers on this machine only: call it as localhost or 127.0.0.1, and not from a web page elsewhere.',
  );
}

function isLoopback(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);
}
