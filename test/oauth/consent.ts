import type { Page } from 'playwright-core';

export type Button = 'Allow' | 'Allow reading only' | 'Deny';

/** Opens what an application sends its person to; what the page says of the application. */
export async function openConsent(page: Page, address: URL): Promise<string> {
  await page.goto(address.href);
  return readConsent(page);
}

/** What the consent page, which is open or about to be, says of the application. */
export async function readConsent(page: Page): Promise<string> {
  const consent = page.locator('.consent');
  await consent.waitFor();
  return (await consent.textContent()) ?? '';
}

/**
 * Presses a button of the consent page, and gives the address that the browser is sent to. It goes there as far as its
 * network, which answers in place of the application. (Playwright's `route` lets redirects pass.)
 */
export async function answerConsent(page: Page, callback: string, button: Button = 'Allow'): Promise<URL> {
  const { origin } = new URL(callback);
  const network = await page.context().newCDPSession(page);
  const body = Buffer.from('<!doctype html><title>Connected</title>').toString('base64');
  const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
  network.on('Fetch.requestPaused', ({ requestId }) => {
    void network.send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body });
  });
  await network.send('Fetch.enable', { patterns: [{ urlPattern: `${origin}/*` }] });
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.waitForURL((address) => address.origin === origin);
  await network.detach();
  return new URL(page.url());
}
