import { z } from 'zod';
import type { PlatformFetch } from '../gateway/outbound.ts';
import { requirePublicAddress } from '../registry/server-address.ts';
import { CLIENT_LIMITS } from './oauth-server.ts';
import type { OAuthStore } from './oauth-store.ts';

/** A client's document that cannot be had, or must not be believed. The message is a sentence for the person. */
export class ClientDocumentError extends Error {
  override readonly name = 'ClientDocumentError';
}

const TIMEOUT_MS = 10_000;
const LARGEST_BYTES = 5 * 1024;
/** A document is not fetched again within this time. */
const FRESH_MS = 5 * 60_000;

/** Whether a client id is the address of the client's metadata document. */
export function isDocumentUrl(clientId: string): boolean {
  return /^https:/i.test(clientId);
}

/**
 * Makes a client known by the document at its id (draft-ietf-oauth-client-id-metadata-document), as if it had registered
 * itself. The library could do it too, but follows redirects, which the draft forbids: by one, a host would vouch for
 * what it only points at. Done when a person is asked; what comes after relies on the copy. When the document cannot be
 * had, the copy of before serves, which lasts as long as the client is connected.
 * @throws ClientDocumentError
 */
export async function registerByDocument(
  store: OAuthStore,
  clientId: string,
  { outbound, now }: { outbound: PlatformFetch; now: () => number },
): Promise<void> {
  const key = `client:${clientId}`;
  const known = (await store.get(key, 'json')) as { fetchedAt: number } | null;
  if (known && now() - known.fetchedAt < FRESH_MS) return;
  const text = await fetchText(clientId, outbound);
  if (text === null) {
    if (known) return;
    throw new ClientDocumentError(
      `The application cannot be verified, because ${hostOf(clientId)} did not answer with its description; try again later.`,
    );
  }
  await store.put(key, JSON.stringify({ ...readDocument(clientId, text), fetchedAt: now() }));
}

/** The body of the document; null when it cannot be had just now. @throws ClientDocumentError */
async function fetchText(clientId: string, outbound: PlatformFetch): Promise<string | null> {
  requireDocumentUrl(clientId);
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), TIMEOUT_MS);
  try {
    const response = await outbound(clientId, {
      redirect: 'manual',
      headers: { accept: 'application/json', 'user-agent': 'Repertoire' },
      signal: ended.signal,
    });
    if (response.status >= 500 || response.status === 429) return null;
    if (response.status !== 200)
      throw refused(clientId, `answers ${response.status}, not with its description`);
    if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers.get('content-type') ?? ''))
      throw refused(clientId, 'does not answer with JSON');
    return await readSmall(response, clientId, ended.signal);
  } catch (error) {
    if (error instanceof ClientDocumentError) throw error;
    return null;
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

async function readSmall(response: Response, clientId: string, signal: AbortSignal): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  signal.addEventListener('abort', () => void reader?.cancel().catch(() => undefined), { once: true });
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    size += part.value.byteLength;
    if (size > LARGEST_BYTES) throw refused(clientId, `describes it in more than ${LARGEST_BYTES} bytes`);
    text += decoder.decode(part.value, { stream: true });
  }
  if (signal.aborted) throw new Error('The document took too long.');
  return text + decoder.decode();
}

/**
 * What can be seen in the address itself is refused here, in a sentence. The platform connects to public addresses only,
 * whatever a name resolves to.
 */
function requireDocumentUrl(clientId: string): void {
  const url = URL.parse(clientId);
  if (
    url?.href !== clientId ||
    url.pathname === '/' ||
    clientId.includes('#') ||
    clientId.length > CLIENT_LIMITS.redirect
  )
    throw new ClientDocumentError(
      'The application cannot be verified: its id is no address of a description.',
    );
  try {
    requirePublicAddress(clientId, { loopback: false });
  } catch (cause) {
    throw new ClientDocumentError('The application cannot be verified: its id is no public address.', {
      cause,
    });
  }
}

const Document = z.object({
  client_id: z.string(),
  client_name: z.string().trim().min(1).max(CLIENT_LIMITS.name),
  redirect_uris: z.array(z.string().max(CLIENT_LIMITS.redirect)).min(1).max(CLIENT_LIMITS.redirects),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  grant_types: z.array(z.string()).default(['authorization_code']),
  response_types: z.array(z.string()).default(['code']),
  client_secret: z.never().optional(),
  client_secret_expires_at: z.never().optional(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).optional(),
});

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const SCRIPTED = ['javascript:', 'data:', 'vbscript:', 'file:', 'blob:'];
const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** The record that the library reads of a registered client. */
function readDocument(clientId: string, text: string) {
  const document = parsed(clientId, text);
  if (document.client_id !== clientId) throw refused(clientId, 'describes an application of another id');
  if (document.jwks?.keys.some((key) => PRIVATE_MEMBERS.some((member) => member in key)))
    throw refused(clientId, 'shows a secret key in its description');
  if (!document.redirect_uris.every(isListable))
    throw refused(clientId, 'names a redirect that must not be used');
  const preferred = document.token_endpoint_auth_method ?? 'none';
  // A client that prefers to sign but offers to be public, as ChatGPT's does, is public here.
  const methods = document.token_endpoint_auth_methods_supported ?? [preferred];
  if (preferred.startsWith('client_secret') || !methods.includes('none'))
    throw refused(clientId, 'wants to prove itself in a way that is not offered here');
  const grantTypes = document.grant_types.filter((type) => GRANT_TYPES.includes(type));
  if (!grantTypes.includes('authorization_code') || !document.response_types.includes('code'))
    throw refused(clientId, 'does not use authorization codes');
  return {
    clientId,
    clientName: document.client_name,
    redirectUris: document.redirect_uris,
    grantTypes,
    responseTypes: ['code'],
    tokenEndpointAuthMethod: 'none',
  };
}

function parsed(clientId: string, text: string): z.infer<typeof Document> {
  try {
    return Document.parse(JSON.parse(text));
  } catch (cause) {
    throw refused(clientId, 'describes it in a form that is not understood', { cause });
  }
}

function isListable(uri: string): boolean {
  if (!URL.canParse(uri) || uri.includes('#')) return false;
  const { protocol, username, password } = new URL(uri);
  return !SCRIPTED.includes(protocol) && username === '' && password === '';
}

function refused(clientId: string, what: string, options?: ErrorOptions): ClientDocumentError {
  return new ClientDocumentError(
    `The application cannot be verified: ${hostOf(clientId)} ${what}. Nothing was connected.`,
    options,
  );
}

function hostOf(clientId: string): string {
  return URL.canParse(clientId) ? new URL(clientId).host : clientId;
}
