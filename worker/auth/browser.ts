import type { Context as Call } from 'hono';
import { sha256 } from '../../schema/digest.ts';
import type { AppEnv } from '../deps.ts';
import { CHALLENGE_LIFE_S } from '../registry/challenges.ts';
import { newSecret } from '../registry/random.ts';
import { SESSION_LIFE_S } from '../registry/session-life.ts';
import type { Visitor } from '../registry/sessions.ts';
import { cookieHash, cookieHeader, LOGIN_COOKIE, SESSION_COOKIE } from './session.ts';
import { browserOf } from './user-agent.ts';

/** Who signs in, as far as the request tells. */
export async function visitorOf(c: Call<AppEnv>): Promise<Visitor> {
  const request = c.req.raw;
  return {
    browser: browserOf(request),
    place: c.var.deps.place(request),
    before: await cookieHash(request, SESSION_COOKIE),
  };
}

/** SHA-256 of the cookie by which this browser is known when it answers; it is given one where it has none. */
export async function sameBrowser(c: Call<AppEnv>): Promise<string> {
  const known = await cookieHash(c.req.raw, LOGIN_COOKIE);
  if (known !== null) return known;
  const secret = newSecret();
  setCookie(c, LOGIN_COOKIE, secret, CHALLENGE_LIFE_S);
  return sha256(secret);
}

/** Signs the browser in; what it was known by until now has done its work. */
export function openCookie(c: Call<AppEnv>, secret: string): void {
  setCookie(c, SESSION_COOKIE, secret, SESSION_LIFE_S);
  setCookie(c, LOGIN_COOKIE, '', 0);
}

/** Signs the browser out. */
export function closeCookie(c: Call<AppEnv>): void {
  setCookie(c, SESSION_COOKIE, '', 0);
}

function setCookie(c: Call<AppEnv>, name: string, value: string, seconds: number): void {
  c.header('set-cookie', cookieHeader(c.req.raw, name, value, seconds), { append: true });
}
