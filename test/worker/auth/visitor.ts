import { type Answer, ORIGIN, type TestApi } from '../api/harness.ts';
import { type SignedIn, signedIn } from './signed-in.ts';

/** A browser that follows links, for logins that send it to and fro: it keeps cookies and says where its page is from. */
export class TestVisitor {
  readonly cookies: Map<string, string>;
  readonly #api: Pick<TestApi, 'call'>;

  constructor(api: Pick<TestApi, 'call'>, cookies: Readonly<Record<string, string>> = {}) {
    this.#api = api;
    this.cookies = new Map(Object.entries(cookies));
  }

  /** Opens an address, by a link of our own pages unless `headers` say otherwise. */
  visit(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#call('GET', path, undefined, { 'sec-fetch-site': 'same-origin', ...headers });
  }

  /** What a script of our own pages sends. */
  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#call('POST', path, body, { origin: ORIGIN, ...headers });
  }

  async isSignedIn(): Promise<boolean> {
    return (await this.visit('/api/v1/whoami')).status === 200;
  }

  async #call(method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await this.#api.call(path, {
      method,
      headers: { ...(cookie === '' ? {} : { cookie }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0\b/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}

/** A browser that is signed in to an account, with a passkey checked just now. */
export async function openOwner(
  api: TestApi,
  account?: string,
): Promise<{ session: SignedIn; browser: TestVisitor }> {
  const session = await signedIn(api, account);
  await session.fresh();
  return { session, browser: new TestVisitor(api, { repertoire: session.secret }) };
}
