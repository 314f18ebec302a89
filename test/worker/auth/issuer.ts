import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { onTestFinished } from 'vitest';
import type { SignIn } from '../../../worker/auth/sign-in.ts';

export const CLIENT_ID = 'repertoire-test';
export const CLIENT_SECRET = 'a secret of the test client';

interface Person {
  sub: string;
  email: string;
}

/** What is to be wrong with a token. */
export interface Forgery {
  /** In place of the right ones; undefined takes a claim out. */
  claims?: Record<string, unknown>;
  alg?: string;
  /** Whose key signs. */
  key?: CryptoKey;
}

/**
 * An OpenID Connect issuer of its own: discovery, keys, authorization and token endpoint of the code flow with PKCE, over
 * real HTTP on loopback. It is known by an https address, which `fetchFrom` leads there. As a Cloudflare Access team it
 * has its keys where such a team has them.
 */
export class TestIssuer {
  readonly url: string;
  readonly #now: () => number;
  readonly #secret: JWK;
  readonly #jwk: JWK;
  readonly #server: Server;
  readonly #codes = new Map<string, URLSearchParams>();
  /** Who sits at the browser. */
  person: Person = { sub: 'subject-1', email: 'ada@example.com' };
  /** Whether the token endpoint takes the client for a public one. */
  isPublic = false;
  forgery: Forgery = {};
  /** Requests that reached it, `METHOD path`. */
  readonly asked: string[] = [];

  static async open(url: string, now: () => number): Promise<TestIssuer> {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    // It names no algorithm, so that the registry must know which ones it takes.
    const jwk = { ...(await exportJWK(publicKey)), use: 'sig', kid: 'key-1' };
    const issuer = new TestIssuer(url, now, await exportJWK(privateKey), jwk);
    await new Promise<void>((listening) => issuer.#server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void issuer.#server.close());
    return issuer;
  }

  private constructor(url: string, now: () => number, secret: JWK, jwk: JWK) {
    this.url = url;
    this.#now = now;
    this.#secret = secret;
    this.#jwk = jwk;
    this.#server = createServer(async (request, response) => {
      this.asked.push(`${request.method} ${request.url?.split('?')[0]}`);
      const answer = await this.#answer(request);
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    });
  }

  /** Where on loopback an address of this issuer is. */
  at(url: string): string {
    const { pathname, search } = new URL(url);
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${pathname}${search}`;
  }

  /** The person agrees: the address that the browser is sent back to. */
  async agree(authorization: string): Promise<string> {
    const response = await fetch(this.at(authorization), { redirect: 'manual' });
    return response.headers.get('location') ?? '';
  }

  /** A JWT about the person. `alg: none` is signed by nobody, an `HS` one by the public key as a password. */
  async sign(claims: JWTPayload): Promise<string> {
    const iat = Math.floor(this.#now() / 1000);
    const { alg = 'RS256', key, claims: wrong } = this.forgery;
    const payload = { iss: this.url, ...this.person, iat, exp: iat + 300, ...claims, ...wrong };
    if (alg === 'none') return new UnsecuredJWT(payload).encode();
    const password = new TextEncoder().encode(JSON.stringify(this.#jwk));
    return new SignJWT(payload)
      .setProtectedHeader({ alg, kid: 'key-1' })
      .sign(alg.startsWith('HS') ? password : (key ?? (await importJWK(this.#secret, alg))));
  }

  async #answer(request: IncomingMessage): Promise<Response> {
    const url = new URL(request.url ?? '/', this.url);
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return Response.json({
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          jwks_uri: `${this.url}/jwks`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          // Says that it takes everything, so that the refusals are the registry's own.
          id_token_signing_alg_values_supported: ['RS256', 'PS256', 'HS256', 'none'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/jwks':
      case '/cdn-cgi/access/certs':
        return Response.json({ keys: [this.#jwk] });
      case '/authorize': {
        const code = crypto.randomUUID();
        this.#codes.set(code, url.searchParams);
        const back = new URL(url.searchParams.get('redirect_uri') ?? '');
        back.searchParams.set('code', code);
        back.searchParams.set('state', url.searchParams.get('state') ?? '');
        return new Response(null, { status: 302, headers: { location: back.href } });
      }
      case '/token':
        return this.#token(new URLSearchParams(await textOf(request)), request.headers.authorization);
      default:
        return new Response('not here', { status: 404 });
    }
  }

  async #token(form: URLSearchParams, authorization = ''): Promise<Response> {
    const code = form.get('code') ?? '';
    const asked = this.#codes.get(code);
    this.#codes.delete(code);
    // RFC 6749 section 2.3.1: each part is form-encoded before Basic puts them together.
    const [id, secret] = Buffer.from(authorization.replace('Basic ', ''), 'base64')
      .toString()
      .split(':')
      .map((part) => new URLSearchParams(`part=${part}`).get('part'));
    const known = this.isPublic
      ? form.get('client_id') === CLIENT_ID
      : id === CLIENT_ID && secret === CLIENT_SECRET;
    const proven = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!known || !asked || asked.get('code_challenge_method') !== 'S256')
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    if (asked.get('code_challenge') !== proven || asked.get('redirect_uri') !== form.get('redirect_uri'))
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const nonce = asked.get('nonce');
    return Response.json({
      access_token: crypto.randomUUID(),
      token_type: 'Bearer',
      id_token: await this.sign({ aud: CLIENT_ID, ...(nonce === null ? {} : { nonce }) }),
    });
  }
}

/** A network in which there are these issuers alone. */
export function fetchFrom(...issuers: TestIssuer[]): SignIn['fetch'] {
  return async (url, init) => {
    const issuer = issuers.find((one) => new URL(one.url).origin === new URL(url).origin);
    if (!issuer) throw new TypeError('fetch failed');
    return fetch(issuer.at(url), init);
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
