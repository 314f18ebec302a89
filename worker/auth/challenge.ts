import type { RegistryError } from '../../schema/errors.ts';
import { metadataUrl, resourceOf } from './resource.ts';

/** What an MCP client is let to ask for. */
export const MCP_SCOPES = ['skills:read', 'skills:write'] as const;

/**
 * `WWW-Authenticate` of a 401 or 403: which credentials would do (RFC 6750 section 3, RFC 9449 section 7.1, RFC 9728
 * section 5.1). Null for every other error.
 */
export function challenge({ code, details }: RegistryError, request: Request): string | null {
  const withProof = request.headers.has('dpop');
  const tried = request.headers.has('authorization');
  switch (code) {
    case 'unauthorized': {
      const metadata = metadataOf(request);
      const error = details.nonce !== undefined ? 'use_dpop_nonce' : tried ? 'invalid_token' : undefined;
      const bearer = scheme('Bearer', {
        error: withProof ? undefined : error,
        ...metadata,
        scope: MCP_SCOPES.join(' '),
      });
      const dpop = scheme('DPoP', { error: withProof ? error : undefined, algs: 'ES256' });
      return withProof ? `${dpop}, ${bearer}` : `${bearer}, ${dpop}`;
    }
    case 'insufficient_scope': {
      const scope = [...new Set(['skills:read', ...(details.scopes ?? [])])].join(' ');
      return withProof
        ? scheme('DPoP', { error: code, scope, algs: 'ES256' })
        : scheme('Bearer', { error: code, ...metadataOf(request), scope });
    }
    default:
      return null;
  }
}

function metadataOf({ url }: Request): { resource_metadata: string } {
  return { resource_metadata: metadataUrl(resourceOf(url) ?? `${new URL(url).origin}/mcp`) };
}

function scheme(name: string, parameters: Record<string, string | undefined>): string {
  const written = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}="${value}"`],
  );
  return `${name} ${written.join(', ')}`;
}
