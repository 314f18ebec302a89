import { expect } from 'vitest';
import { applications } from '../../worker/db/tables/programs.ts';
import { CLAUDE_AI, documentHosts } from '../oauth/applications.ts';
import { answerConsent, openConsent } from '../oauth/consent.ts';
import { Host } from '../oauth/host.ts';
import { browserTests } from './harness.ts';

const { site, test } = await browserTests({ network: documentHosts });
const resource = `${site?.url}/mcp`;
const { callback } = CLAUDE_AI;

test('check 13: a click that comes before the page could be read is no answer', async () => {
  const { page } = await site.member();
  await page.clock.install();
  await openConsent(page, await (await Host.meet({ resource, ...CLAUDE_AI })).authorizationUrl());
  const before = await site.db.select().from(applications);
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  expect(await allow.getAttribute('aria-disabled')).toBe('true');
  await allow.dblclick({ force: true });
  await page.clock.runFor(1000);
  expect(await allow.getAttribute('aria-disabled')).toBe('false');
  // Another window was in front, such as the one that took the first click.
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await allow.click({ force: true });
  expect(await page.locator('.consent').count()).toBe(1);
  expect(await site.db.select().from(applications)).toEqual(before);
  await page.clock.runFor(1000);
  await answerConsent(page, callback);
  expect(await site.db.select().from(applications)).toHaveLength(before.length + 1);
});

test('a client in a web page that opens the way to its consent in a pop-up is not parted from it', async () => {
  const { page } = await site.member();
  const address = await (await Host.meet({ resource, ...CLAUDE_AI })).authorizationUrl();
  await page.route('https://claude.ai/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<link rel="icon" href="data:,">' }),
  );
  await page.goto('https://claude.ai/');
  const opened = page.waitForEvent('popup');
  await page.evaluate(
    `globalThis.consent = open(${JSON.stringify(address.href)}, 'consent', 'width=600'); undefined`,
  );
  const popup = await opened;
  await popup.locator('.consent').waitFor();
  expect(await page.evaluate('globalThis.consent.closed')).toBe(false);
  await answerConsent(popup, callback);
  expect(await popup.evaluate('opener !== null')).toBe(true);
});
