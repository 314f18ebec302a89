import { ServerName } from '../../schema/servers.ts';
import { isLoopback } from './loopback.ts';

/** Where the metadata of a protected resource is, before the resource's own path (RFC 9728 section 3.1). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/**
 * The OAuth resource that an address belongs to: `/mcp`, or `/mcp/<server>`, each with tokens of its own; null for every
 * other address. A query names no other resource.
 */
export function resourceOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { origin, pathname } = new URL(address);
  const [, server] = /^\/mcp(?:\/([^/]+))?$/.exec(pathname) ?? [null, ''];
  if (server === '' || (server !== undefined && !ServerName.safeParse(server).success)) return null;
  return origin + pathname;
}

/** The server that a resource is; null for the registry's own. */
export function serverOf(resource: string): string | null {
  return new URL(resource).pathname.split('/')[2] ?? null;
}

/** The resource that a client names (RFC 8707), where it is one of an issuer's; null otherwise. */
export function resourceNamed(name: string, issuer: string): string | null {
  const resource = resourceOf(name);
  return resource !== null && issuerOf(resource) === issuer ? resource : null;
}

/** Address of a resource's metadata. */
export function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return origin + METADATA_PATH + pathname;
}

/**
 * The authorization server at an address: its origin. A person's own machine has several names, but passkeys and the
 * session are at home at `localhost` alone, so that all of them are served from there.
 */
export function issuerOf(address: string): string {
  const url = new URL(address);
  if (url.protocol === 'http:' && isLoopback(address)) url.hostname = 'localhost';
  return url.origin;
}
