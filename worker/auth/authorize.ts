import { AuthorizationError, type AuthRequest } from '@cloudflare/workers-oauth-provider';
import type { Scope } from '../../schema/api.ts';
import type { PlatformFetch } from '../gateway/outbound.ts';
import { connectStatements } from '../registry/applications.ts';
import type { Context } from '../registry/context.ts';
import { listServers } from '../registry/servers.ts';
import { isDocumentUrl, registerByDocument } from './client-document.ts';
import { grantOf, openOAuth } from './oauth-server.ts';
import { OAuthStore } from './oauth-store.ts';
import { resourceNamed, serverOf } from './resource.ts';

/** What the person is asked, and what the browser must be given so that its answer counts. */
export interface Question {
  readonly handle: string;
  readonly client: ClientFacts;
  readonly scopes: readonly Scope[];
  /** The server that the application asks for; null for the registry itself. */
  readonly server: string | null;
  /** Other servers whose tools come along with the registry's own. */
  readonly alongside: readonly string[];
  /** Where an answer's redirect may go: a source of CSP's form-action. */
  readonly formTarget: string;
  readonly cookies: readonly string[];
}

interface ClientFacts {
  /** Host that vouches for the client: of its metadata document, else of its redirect. */
  readonly host: string;
  readonly name: string;
  readonly redirectHost: string;
  /** The answer goes to a program on the person's own computer. */
  readonly loopback: boolean;
}

export type Decision = 'allow' | 'allow-read' | 'deny';

/** Where the browser goes next. */
export interface Onward {
  readonly location: string;
  readonly cookies: readonly string[];
}

/** A request for which there is no safe way back to the client. The message is a sentence for the person. */
export class DeadEndError extends Error {
  override readonly name = 'DeadEndError';
}

/** A request that waits for its person. */
interface Asked extends AuthRequest {
  readonly accountId: string;
}

/** Callbacks of programs that open their own address. Each is one program's; a scheme alone could be anybody's. */
const NATIVE_CALLBACKS: readonly string[] = ['cursor://anysphere.cursor-mcp/oauth/callback'];
/** base64url of a SHA-256 (RFC 7636 section 4.2). */
const CHALLENGE = /^[\w-]{43}$/;

interface Around {
  readonly issuer: string;
  readonly outbound: PlatformFetch;
}

/**
 * Reads an authorization request (RFC 6749 section 4.1.1) for the caller's account.
 * @throws DeadEndError, ClientDocumentError for the person; `AuthorizationError` with `redirectTo` for the client
 */
export async function ask(ctx: Context, request: Request, { issuer, outbound }: Around): Promise<Question> {
  const { accountId } = ctx.actor;
  const query = new URL(request.url).searchParams;
  const store = storeOf(ctx);
  const clientId = query.get('client_id') ?? '';
  requireUsableRedirect(query.get('redirect_uri') ?? '');
  if (isDocumentUrl(clientId)) await registerByDocument(store, clientId, { outbound, now: ctx.now });

  const { api } = openOAuth(store, issuer, resourceNamed(query.get('resource') ?? '', issuer));
  const asked = await api.parseAuthRequest(request);
  // The library lets clients with a secret go without.
  if (!CHALLENGE.test(asked.codeChallenge ?? ''))
    throw refusedTo(asked, 'A code_challenge of method S256 is required');
  const { clientName, redirectIsLoopback } = await api.describeConsent(asked);
  const scopes = scopesOf(asked.scope);
  const waiting: Asked = { ...asked, scope: scopes, accountId };
  const { handle, headers } = await api.beginConsent(waiting);
  await store.commit();
  const server = serverOf(asked.resource ?? `${issuer}/mcp`);
  const others = server === null ? await listServers(ctx) : [];
  return {
    handle,
    client: clientFacts(asked, clientName, redirectIsLoopback),
    scopes,
    server,
    alongside: others.filter(({ in_main }) => in_main).map(({ name }) => name),
    formTarget: formTarget(asked.redirectUri),
    cookies: headers.getSetCookie(),
  };
}

/**
 * Takes the person's answer, once.
 * @throws AuthorizationError when the question is not this browser's, is too old or was answered; `StaleRecordError` when
 * it was answered at the same time
 */
export async function answer(
  ctx: Context,
  request: Request,
  { handle, decision }: { handle: string; decision: Decision },
  issuer: string,
): Promise<Onward> {
  const store = storeOf(ctx);
  const { api } = openOAuth(store, issuer);
  if (decision === 'deny') {
    const { request: denied, redirectTo, headers } = await api.denyConsent(request, handle);
    requireSamePerson(ctx, denied as Asked);
    await store.commit();
    return { location: redirectTo, cookies: headers.getSetCookie() };
  }
  const readOnly = decision === 'allow-read';
  const { request: approved, headers } = await api.approveConsent(
    request,
    handle,
    readOnly ? { scope: ['skills:read'] } : {},
  );
  requireSamePerson(ctx, approved as Asked);

  const completing = openOAuth(store, issuer, approved.resource).api;
  const { clientName, redirectIsLoopback } = await completing.describeConsent(approved);
  const { accountId } = ctx.actor;
  const { redirectTo } = await completing.completeAuthorization({
    request: approved,
    userId: accountId,
    metadata: null,
    scope: approved.scope,
    props: {},
    // Every installation of such a program has the same id, on however many machines.
    revokeExistingGrants: !(isDocumentUrl(approved.clientId) && redirectIsLoopback),
  });
  const facts = clientFacts(approved, clientName, redirectIsLoopback);
  await store.commit({
    ended: null,
    also: connectStatements(ctx.db, {
      id: grantOf(new URL(redirectTo).searchParams.get('code') ?? '').grant,
      accountId,
      clientId: approved.clientId,
      name: facts.name,
      host: facts.host,
      resource: approved.resource ?? `${issuer}/mcp`,
      scopes: approved.scope as Scope[],
      readOnly,
      connectedAt: ctx.now(),
    }),
  });
  return { location: redirectTo, cookies: headers.getSetCookie() };
}

/** Writes nothing once the person's session has ended. */
function storeOf(ctx: Context): OAuthStore {
  return new OAuthStore(ctx.db, ctx.now, (statements) => ctx.write(statements));
}

/** Whoever writes reads. A client that names no scope that there is gets asked for all, as the challenge names them. */
function scopesOf(requested: readonly string[]): Scope[] {
  const less = requested.includes('skills:read') && !requested.includes('skills:write');
  return less ? ['skills:read'] : ['skills:read', 'skills:write'];
}

/** The library judges web and loopback addresses. */
function requireUsableRedirect(uri: string): void {
  const protocol = URL.canParse(uri) ? new URL(uri).protocol : '';
  if (protocol === 'https:' || protocol === 'http:' || NATIVE_CALLBACKS.includes(uri)) return;
  throw new DeadEndError(
    'The application wants its answer at an address that is not safe to use, so nothing was connected.',
  );
}

function requireSamePerson(ctx: Context, { accountId }: Asked): void {
  if (accountId === ctx.actor.accountId) return;
  throw new DeadEndError(
    'This question was asked in another account than the one you are signed in to now; start again in the application.',
  );
}

function refusedTo(asked: AuthRequest, description: string): AuthorizationError {
  const { redirectUri, state, issuer } = asked;
  return new AuthorizationError('invalid_request', {
    description,
    redirectUri,
    ...(state === '' ? {} : { state }),
    ...(issuer === undefined ? {} : { issuer }),
  });
}

function clientFacts({ clientId, redirectUri }: AuthRequest, name: string, loopback: boolean): ClientFacts {
  const { protocol, host } = new URL(redirectUri);
  const web = protocol === 'https:' || protocol === 'http:';
  const redirectHost = web ? host : `${protocol}//${host}`;
  return {
    host: isDocumentUrl(clientId) ? new URL(clientId).host : redirectHost,
    name,
    redirectHost,
    loopback: loopback || !web,
  };
}

/** CSP has no form for an IPv6 address, nor for a scheme's host: there the scheme alone must do. */
function formTarget(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri);
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin;
}
