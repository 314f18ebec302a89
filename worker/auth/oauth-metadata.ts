import { MCP_SCOPES } from './challenge.ts';
import { openOAuth } from './oauth-server.ts';
import type { OAuthStore } from './oauth-store.ts';
import { issuerOf } from './resource.ts';

/** The metadata of a protected resource (RFC 9728 section 2). */
export function resourceMetadata(resource: string) {
  return {
    resource,
    authorization_servers: [issuerOf(resource)],
    scopes_supported: MCP_SCOPES,
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: ['ES256'],
    resource_name: 'Repertoire',
  };
}

/**
 * The metadata of the authorization server (RFC 8414 section 2): what the library says of itself, and what this registry
 * does in its place. Its list of resources is left out, since each server of an account is one more.
 */
export async function serverMetadata(issuer: string): Promise<Record<string, unknown>> {
  const request = new Request(`${issuer}/.well-known/oauth-authorization-server`);
  const answer = await openOAuth(NO_STORE, issuer).fetch(request);
  const { protected_resources: _, ...metadata } = (await answer.json()) as Record<string, unknown>;
  return {
    ...metadata,
    revocation_endpoint: `${issuer}/revoke`,
    client_id_metadata_document_supported: true,
  };
}

/** Metadata needs none. */
const NO_STORE = null as unknown as OAuthStore;
