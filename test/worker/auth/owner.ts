import { makeOwnerLink } from '../../../worker/registry/links.ts';
import type { TestApi } from '../api/harness.ts';
import { Browser } from './browser.ts';
import { type SignedIn, signedIn } from './signed-in.ts';

/** The token of an owner link. */
export async function ownerLink({ db, clock }: Pick<TestApi, 'db' | 'clock'>): Promise<string> {
  const token = await makeOwnerLink(db, clock.now);
  if (token === null) throw new Error('There is an owner.');
  return token;
}

/** A browser whose person opened the owner link: signed in, with a passkey and eight recovery codes. */
export async function owner(api: TestApi): Promise<Browser & { codes: string[] }> {
  const browser = new Browser(api);
  const { json } = await browser.setUp(await ownerLink(api));
  return Object.assign(browser, { codes: json.recovery_codes as string[] });
}

/** A browser that is signed in to an account, with a passkey checked just now. */
export async function openOwner(
  api: TestApi,
  account?: string,
): Promise<{ session: SignedIn; browser: Browser }> {
  const session = await signedIn(api, account);
  await session.fresh();
  const browser = new Browser(api);
  browser.cookies.set('repertoire', session.secret);
  return { session, browser };
}
