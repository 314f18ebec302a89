import axe from 'axe-core';
import { eq } from 'drizzle-orm';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { AccountEvent } from '../../schema/account.ts';
import { devices } from '../../worker/db/tables/devices.ts';
import { accountEvents, passkeys, sessions } from '../../worker/db/tables/people.ts';
import { applications, tokens } from '../../worker/db/tables/programs.ts';
import { accounts } from '../../worker/db/tables/registry.ts';
import { startPairing } from '../../worker/registry/pairing.ts';
import { newId } from '../../worker/registry/random.ts';
import { CLAUDE_AI, CLAUDE_CODE_REGISTERED, documentHosts } from '../oauth/applications.ts';
import { answerConsent, openConsent } from '../oauth/consent.ts';
import { Host } from '../oauth/host.ts';
import { browserTests, confirm } from './harness.ts';

const { site, test } = await browserTests({ network: documentHosts });
const resource = `${site?.url}/mcp`;

/** What somebody could call a thing so that a page runs it, or shows something else than it is. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><svg/onload=alert(1)>',
  "'-alert(1)-'",
  '</script><script>alert(1)</script>',
  '</title></textarea><script>alert(1)</script>',
  '<a href="javascript:alert(1)">Approve</a>',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<style>*{display:none}</style>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '$& {{alert(1)}} `alert(1)`',
  'NAME',
  '\u202Egnp.exe\u202C',
  'pay\u200Bpal\u2060',
  'line\nbreak\u0000\u001B[2J',
];

test('every page passes axe, in the light and in the dark, on a desk and on a phone', async () => {
  const person = await site.visitor();
  const { page } = person;
  const looked: string[] = [];
  const look = async (name: string) => {
    looked.push(...(await judge(page)).map((violation) => `${name}: ${violation}`));
  };
  await page.goto('/');
  await look('intro');
  await page.goto('/auth/nowhere');
  await look('error');
  await page.goto('/setup');
  await page.getByText('needs the whole link').waitFor();
  await look('setup without a token');
  await page.goto('/login');
  await page.getByText('I have lost my passkey').click();
  await look('login');

  await page.goto(await site.invitation('Ada'));
  await page.getByRole('button', { name: 'Make the passkey' }).waitFor();
  await look('making a passkey');
  await page.getByRole('button', { name: 'Make the passkey' }).click();
  await page.getByRole('button', { name: 'I have kept them' }).waitFor();
  await look('recovery codes');
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await look('second passkey');
  await page.goto('/account');
  await look('empty account');

  await page.goto('/pair');
  await look('pairing code');
  await page.goto('/pair?code=BBBB-BBBB');
  await look('wrong pairing code');
  await page.goto(`/pair?code=${await pairingCode('laptop')}`);
  await look('pairing');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('“laptop” is paired.').waitFor();
  await look('paired');

  for (const application of [CLAUDE_AI, CLAUDE_CODE_REGISTERED]) {
    const host = await Host.meet({ resource, ...application });
    await openConsent(page, await host.authorizationUrl());
    await look(`consent for ${application.title}`);
    await answerConsent(page, application.callback);
  }
  await page.goto('/account');
  for (const summary of ['Make a token', 'Rename']) await page.getByText(summary, { exact: true }).click();
  await page.getByLabel('Name', { exact: true }).fill('Backup');
  await page.getByRole('button', { name: 'Make the token' }).click();
  await page.locator('#tokens output').waitFor();
  await look('full account');
  await page.getByRole('button', { name: 'Revoke laptop' }).click();
  await look('question');
  expect(looked).toEqual([]);
});

test('check 44: names run nothing, hide nothing and reorder nothing, wherever the account page shows them', async () => {
  const { page } = await site.member('hostile');
  page.on('dialog', () => expect.unreachable('a script ran'));
  const [account] = await site.db.select().from(accounts).where(eq(accounts.name, 'hostile'));
  const accountId = account?.id ?? '';
  await site.db
    .update(accounts)
    .set({ name: HOSTILE.join(' ') })
    .where(eq(accounts.id, accountId));
  await site.db
    .update(sessions)
    .set({ browser: HOSTILE[0] as string })
    .where(eq(sessions.accountId, accountId));
  await site.db
    .update(passkeys)
    .set({ name: HOSTILE[1] as string })
    .where(eq(passkeys.accountId, accountId));
  const at = Date.now();
  for (const name of HOSTILE) {
    const id = newId();
    const scopes = ['skills:read' as const];
    const named = { id, accountId, name };
    const facts = { name, host: name, browser: name, place: name, method: name, place_before: name };
    await site.db.batch([
      site.db.insert(applications).values({
        ...named,
        clientId: name,
        host: name,
        resource: name,
        scopes,
        readOnly: true,
        connectedAt: at,
      }),
      site.db.insert(devices).values({ ...named, platform: name, thumbprint: id, pairedAt: at }),
      site.db.insert(tokens).values({ ...named, hash: id, scopes, createdAt: at }),
      ...AccountEvent.shape.type.options.map((type) =>
        site.db.insert(accountEvents).values({ id: newId(), accountId, at, type, details: facts }),
      ),
    ]);
  }
  await page.goto('/account');
  expect(await page.title()).toBe('Account · Repertoire');
  expect(await page.locator('main :is(img, svg, iframe, style, base, meta, script)').count()).toBe(0);
  const text = (await page.locator('body').textContent()) ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0008\u001B\u200B\u202A-\u202E\u2060]/);
  for (const shown of [...HOSTILE.slice(0, 13), '<U+202E>gnp.exe<U+202C>', 'pay<U+200B>pal<U+2060>'])
    expect(text).toContain(shown);

  for (const name of [HOSTILE[0], HOSTILE[11], 'NAME'] as string[]) {
    await page
      .getByRole('button', { name: `Revoke ${name}`, exact: true })
      .first()
      .click();
    expect(await page.locator('#ask-sentence').textContent()).toContain(`Revoke “${name}”?`);
    await page.keyboard.press('Escape');
  }
  await confirm(page, `Disconnect ${HOSTILE[3]}`, 'Disconnect');
  await page.getByText(`“${HOSTILE[3]}” has no access any more.`).waitFor();
  expect(await judge(page)).toEqual([]);
});

test('check 44: an application is shown as what it calls itself, after the address that vouches for it', async () => {
  const { page } = await site.member();
  page.on('dialog', () => expect.unreachable('a script ran'));
  const { callback } = CLAUDE_AI;
  for (const name of HOSTILE.slice(0, 12)) {
    const registration = { client_name: name, redirect_uris: [callback], token_endpoint_auth_method: 'none' };
    const host = await Host.meet({ resource, callback, by: { registration } });
    const consent = await openConsent(page, await host.authorizationUrl());
    expect(consent).toMatch(/^Connect claude\.aiIt calls itself/);
    expect(consent).toContain(`“${name}”`);
    expect(await page.getByRole('button').allTextContents()).toEqual([
      'Sign out',
      'Allow',
      'Allow reading only',
      'Deny',
    ]);
  }
});

test('a person without a mouse signs in, connects an application and ends it', async () => {
  const person = await site.member();
  const { page } = person;
  await person.signOut();
  const host = await Host.meet({ resource, ...CLAUDE_AI });
  await page.goto((await host.authorizationUrl()).href);
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  await press(page, 'Sign in with a passkey');
  await page.locator('.consent').waitFor();
  // Before it could be read, no key answers it.
  await page.getByRole('button', { name: 'Allow', exact: true, disabled: false }).waitFor();
  for (const name of ['Allow', 'Allow reading only', 'Deny']) await tabTo(page, name);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  expect(await focused(page)).toBe('Allow');
  const seen = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  expect(seen).toBe('solid');
  await answerConsent(page, CLAUDE_AI.callback, 'Allow');

  await page.goto('/account');
  await press(page, 'Disconnect');
  await page.getByRole('dialog').waitFor();
  expect(await focused(page)).toBe('Disconnect');
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Cancel');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await focused(page)).toBe('Disconnect');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('“Claude” has no access any more.').waitFor();
  expect(await focused(page)).toBe('Connected applications');
});

/** What axe finds in the page as it stands. */
async function judge(page: Page): Promise<string[]> {
  const found = new Set<string>();
  await page.evaluate(axe.source);
  for (const size of [1280, 380]) {
    await page.setViewportSize({ width: size, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const violations = (await page.evaluate(
        `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ' ' + html)))`,
      )) as string[];
      for (const violation of violations) found.add(`${colorScheme}, ${size}: ${violation}`);
    }
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    if (overflow !== 0) found.add(`${size}: the page is ${overflow} pixels wider than the screen`);
  }
  return [...found];
}

async function pairingCode(name: string): Promise<string> {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', pair.publicKey);
  const now = () => Date.now();
  const jwk = { kty: 'EC', crv: 'P-256', x, y } as const;
  const proof = { jwk, thumbprint: x, jti: newId(), expiresAt: now() + 60_000 };
  const around = { db: site.db, now, notify: async () => undefined, defer: () => undefined };
  const { userCode } = await startPairing(around, proof, { name, platform: 'linux x64', place: 'here' });
  return userCode;
}

/** What has the focus, as it is written on it. */
function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.textContent.trim()');
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === name) return;
  }
  throw new Error(`Tab does not lead to ${name}.`);
}

async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}
