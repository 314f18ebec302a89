import type { AccountEvent } from '../../schema/account.ts';
import { sha256 } from '../../schema/digest.ts';
import type { Database, Statement } from '../db/client.ts';
import { StaleRecordError } from '../registry/oauth-records.ts';
import { exchangedStatement, findRefresh } from '../registry/refreshes.ts';
import { oauthError } from './oauth-error.ts';
import { grantOf, type OAuth, openOAuth } from './oauth-server.ts';
import { OAuthStore } from './oauth-store.ts';
import { resourceNamed } from './resource.ts';
import { seal, unseal } from './seal.ts';

/** A form that was posted to the token or the revocation endpoint. */
export interface TokenRequest {
  readonly issuer: string;
  readonly form: URLSearchParams;
  readonly contentType: string;
  /** Where the client says who it is, if not in the form. */
  readonly authorization: string | null;
}

interface Around {
  readonly db: Database;
  readonly now: () => number;
}

/** Each loser of a race finds the winner's answer on its next try. */
const TRIES = 4;
const REPEATED = 'refresh answer';

interface StoredGrant {
  readonly resource?: string;
  readonly clientId: string;
  readonly refreshTokenId?: string;
}

/**
 * The token endpoint (RFC 6749 section 3.2). Beyond the library: of parallel exchanges of one code one at most succeeds;
 * parallel refreshes with one token all get the same answer, and so does a repetition within a minute; an exchanged token
 * that comes back after its successor was used ends the grant (RFC 9700 section 4.14.2), and the person is told.
 */
export async function answerToken(request: TokenRequest, around: Around): Promise<Response> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await (request.form.get('grant_type') === 'refresh_token'
        ? refresh(request, around)
        : exchange(request, around));
    } catch (error) {
      if (!(error instanceof StaleRecordError)) throw error;
    }
  }
  return oauthError(503, 'temporarily_unavailable', 'Too much happens to this grant at once; try again', {
    'retry-after': '1',
  });
}

/** The revocation endpoint (RFC 7009): an access token ends alone, a refresh token with its whole grant. */
export async function answerRevocation(request: TokenRequest, around: Around): Promise<Response> {
  const form = new URLSearchParams(request.form);
  if (!form.get('token')) return oauthError(400, 'invalid_request', 'The parameter "token" is missing');
  // The library has one endpoint for both and tells them apart by it.
  form.delete('grant_type');
  const store = new OAuthStore(around.db, around.now);
  const answer = await ask(openOAuth(store, request.issuer), { ...request, form });
  await store.commit();
  return answer;
}

async function exchange(request: TokenRequest, around: Around): Promise<Response> {
  const store = new OAuthStore(around.db, around.now);
  const grant = await readGrant(store, request.form.get('code') ?? '');
  const answer = await ask(openOAuth(store, request.issuer, grant?.resource), request);
  await store.commit();
  return answer;
}

async function refresh(request: TokenRequest, around: Around): Promise<Response> {
  const { db } = around;
  const now = around.now();
  const token = request.form.get('refresh_token') ?? '';
  const hash = await sha256(token);
  const secret = JSON.stringify([token, ...credentialsOf(request)]);
  const store = new OAuthStore(db, around.now);
  // In this order: whoever exchanges the token in between makes this grant stale, or is found to have done it.
  const grant = await readGrant(store, token);
  const known = await findRefresh(db, hash, now);
  const asked = request.form.get('resource');
  const misdirected = asked !== null && resourceNamed(asked, request.issuer) !== grant?.resource;
  if (known?.answer && !misdirected) {
    const answer = await unseal(known.answer, REPEATED, secret);
    if (answer !== null) return tokenAnswer(answer);
  }

  const oauth = openOAuth(store, request.issuer, grant?.resource);
  const answer = await ask(oauth, request);
  const also: Statement[] = [];
  let ended: AccountEvent['type'] = 'application_revoked';
  if (answer.ok) {
    const body = await answer.clone().text();
    const { accountId, grant: id } = grantOf(token);
    const exchanged = { grant: id, accountId, at: now };
    const replaced = grant?.refreshTokenId;
    if (replaced !== undefined && replaced !== hash)
      also.push(exchangedStatement(db, { ...exchanged, hash: replaced, answer: null }));
    also.push(exchangedStatement(db, { ...exchanged, hash, answer: await seal(body, REPEATED, secret) }));
  } else if (known && isReplay(oauth, request, grant)) {
    ended = 'refresh_replayed';
    await store.delete(grantOf(token).key);
  }
  await store.commit({ also, ended });
  return answer;
}

async function readGrant(store: OAuthStore, token: string): Promise<StoredGrant | null> {
  return (await store.get(grantOf(token).key, 'json')) as StoredGrant | null;
}

function ask(oauth: OAuth, { issuer, form, contentType, authorization }: TokenRequest): Promise<Response> {
  const headers = new Headers({ 'content-type': contentType });
  if (authorization !== null) headers.set('authorization', authorization);
  return oauth.fetch(new Request(`${issuer}/token`, { method: 'POST', headers, body: form.toString() }));
}

/** What a client proves itself by: whoever repeats a refresh must come with the same. */
function credentialsOf({ form, authorization }: TokenRequest): (string | null)[] {
  return [form.get('client_id'), form.get('client_secret'), authorization];
}

/** Whether a client came with a token of its own grant that is neither the latest nor the one before. */
function isReplay(oauth: OAuth, request: TokenRequest, grant: StoredGrant | null): boolean {
  return oauth.refusal() === 'refresh_token_mismatch' && clientIdOf(request) === grant?.clientId;
}

/** Of a client that the library has let through (RFC 6749 section 2.3.1). */
function clientIdOf({ form, authorization }: TokenRequest): string | null {
  const [, basic] = /^basic +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (basic === undefined) return form.get('client_id');
  const [id = ''] = atob(basic).split(':');
  return new URLSearchParams(`id=${id}`).get('id');
}

function tokenAnswer(body: string): Response {
  return new Response(body, {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' },
  });
}
