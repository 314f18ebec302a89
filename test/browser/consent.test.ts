import { expect } from 'vitest';
import { applications } from '../../worker/db/tables/programs.ts';
import { CLAUDE_AI, documentHosts } from '../oauth/applications.ts';
import { answerConsent, openConsent } from '../oauth/consent.ts';
import { Host, knock } from '../oauth/host.ts';
import { browserTests, confirm, told } from './harness.ts';

const { site, test } = await browserTests({ network: documentHosts });
const resource = `${site?.url}/mcp`;
const { callback } = CLAUDE_AI;

test('check 13: a consent page is shown in no frame', async () => {
  const { page, problems } = await site.member();
  const address = await (await Host.meet({ resource, ...CLAUDE_AI })).authorizationUrl();
  // Of the same site, so that the session's cookie comes along: what is left to refuse it is the header.
  await page.route(`${site.url}/framing`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<iframe src="${address.href.replaceAll('&', '&amp;')}"></iframe>`,
    }),
  );
  await page.goto('/framing');
  await expect.poll(() => problems.length, { timeout: 60_000 }).toBeGreaterThan(0);
  expect(problems.splice(0).join()).toMatch(/frame-ancestors|Refused to (frame|display)/);
  expect(await page.frameLocator('iframe').getByRole('button', { name: 'Allow' }).count()).toBe(0);
});

test('check 13: an answer counts once, from the page that asked, in the browser that was asked', async () => {
  const { page } = await site.member('Ada');
  const host = await Host.meet({ resource, ...CLAUDE_AI });
  await openConsent(page, await host.authorizationUrl());
  const handle = await page.locator('input[name=handle]').inputValue();

  const stranger = await site.member('Eve');
  await openConsent(stranger.page, await (await Host.meet({ resource, ...CLAUDE_AI })).authorizationUrl());
  await stranger.page.locator('input[name=handle]').evaluate((input, value) => {
    (input as { value?: string }).value = value;
  }, handle);
  await stranger.page.getByRole('button', { name: 'Allow', exact: true }).click();
  await stranger.page.getByRole('heading', { name: 'The application was not connected' }).waitFor();

  await page.route('http://evil.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<link rel="icon" href="data:,"><form method="post" action="${site.url}/authorize">
        <input name="handle" value="${handle}"><button name="decision" value="allow">Win a prize</button></form>`,
    }),
  );
  await page.goto('http://evil.example/');
  const refused = page.waitForResponse(`${site.url}/authorize`);
  await page.getByRole('button', { name: 'Win a prize' }).click();
  expect((await refused).status()).toBe(403);
  expect(await site.db.select().from(applications)).toEqual([]);

  await openConsent(page, await host.authorizationUrl());
  const again = await page.locator('input[name=handle]').inputValue();
  await answerConsent(page, callback);
  expect(await site.db.select().from(applications)).toHaveLength(1);
  await page.goto('/login');
  const status = await page.evaluate(
    `fetch('/authorize', { method: 'POST', redirect: 'manual', body: new URLSearchParams({ handle: '${again}', decision: 'allow' }) })
      .then(({ status }) => status)`,
  );
  expect(status).toBe(400);
  expect(await site.db.select().from(applications)).toHaveLength(1);
});

test('an application that was limited to reading is marked so, and is out as soon as it is disconnected', async () => {
  const { page } = await site.member();
  const host = await Host.meet({ resource, ...CLAUDE_AI });
  await openConsent(page, await host.authorizationUrl());
  const tokens = await host.redeem(await answerConsent(page, callback, 'Allow reading only'));
  expect((await knock(resource, tokens.access)).status).not.toBe(401);
  await page.goto('/account');
  const connected = page.getByRole('list', { name: 'Connected applications' });
  expect(await connected.textContent()).toMatch(/Claude.*reads only.*claude\.ai/s);
  await confirm(page, 'Disconnect Claude', 'Disconnect');
  await told(page, '“Claude” has no access any more.');
  expect((await knock(resource, tokens.access)).status).toBe(401);
  await expect(host.refresh(tokens)).rejects.toMatchObject({ error: 'invalid_grant' });
});

test('a request that cannot be sent back ends on a page of our own', async () => {
  const { page } = await site.member();
  const address = await (await Host.meet({ resource, ...CLAUDE_AI })).authorizationUrl();
  address.searchParams.set('redirect_uri', 'https://evil.example/callback');
  await page.goto(address.href);
  expect(new URL(page.url()).origin).toBe(site.url);
  await page.getByRole('heading', { name: 'The application was not connected' }).waitFor();
});
