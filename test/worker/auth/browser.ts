import { expect } from 'vitest';
import { type Answer, ORIGIN, type TestApi } from '../api/harness.ts';
import { Authenticator, type Tweaks } from './authenticator.ts';

/** A browser as far as signing in needs one: it keeps cookies, says where its page is from, and has an authenticator. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly authenticator: Authenticator;
  readonly #api: Pick<TestApi, 'call'>;
  readonly #origin: string;

  constructor(api: Pick<TestApi, 'call'>, origin = ORIGIN, authenticator = new Authenticator(origin)) {
    this.#api = api;
    this.#origin = origin;
    this.authenticator = authenticator;
  }

  get headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return {
      origin: this.#origin,
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...(cookie === '' ? {} : { cookie }),
    };
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Answer> {
    const { origin, ...always } = this.headers;
    const own = method === 'GET' ? always : { origin, ...always };
    const sent = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== undefined);
    const answer = await this.#api.call(this.#origin + path, {
      method,
      headers: Object.fromEntries(sent) as Record<string, string>,
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0\b/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  /** Follows a link of our own pages, unless `headers` say otherwise. */
  visit(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('GET', path, undefined, { 'sec-fetch-site': 'same-origin', ...headers });
  }

  /** What a script of our own pages sends. */
  post(path: string, body: unknown = {}, headers: Record<string, string | undefined> = {}): Promise<Answer> {
    return this.call('POST', path, body, headers);
  }

  /** Opens a one-time link and makes a passkey with it. */
  async setUp(token: string, more: Record<string, string> = {}, tweaks: Tweaks = {}): Promise<Answer> {
    const asked = await this.post('/auth/setup/options', { token });
    if (asked.status !== 200) return asked;
    const response = this.authenticator.create(asked.json.options, tweaks);
    return this.post('/auth/setup/finish', { token, ...more, response });
  }

  async logIn(tweaks: Tweaks = {}): Promise<Answer> {
    const { json } = await this.post('/auth/login/options');
    return this.post('/auth/login/finish', { response: this.authenticator.get(json.options, tweaks) });
  }

  async check(tweaks: Tweaks = {}): Promise<Answer> {
    const asked = await this.post('/auth/check/options');
    if (asked.status !== 200) return asked;
    const response = this.authenticator.get(asked.json.options, tweaks);
    return this.post('/auth/check/finish', { response });
  }

  async addPasskey(tweaks: Tweaks = {}): Promise<Answer> {
    const asked = await this.post('/api/v1/passkeys/options');
    if (asked.status !== 200) return asked;
    const response = this.authenticator.create(asked.json.options, tweaks);
    return this.post('/api/v1/passkeys', { name: 'another one', response });
  }

  async isSignedIn(): Promise<boolean> {
    const { status } = await this.call('GET', '/api/v1/whoami');
    expect([200, 401]).toContain(status);
    return status === 200;
  }
}
