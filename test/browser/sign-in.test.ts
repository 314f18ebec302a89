import { eq } from 'drizzle-orm';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { passkeys, sessions } from '../../worker/db/tables/people.ts';
import { accounts } from '../../worker/db/tables/registry.ts';
import { makeOwnerLink } from '../../worker/registry/links.ts';
import { browserTests, confirm, told } from './harness.ts';

const { site, test } = await browserTests();

test('check 18: the owner link makes one owner; its token leaves the address bar at once', async () => {
  const link = await site.ownerLink();
  const owner = await site.visitor();
  await owner.page.goto(link);
  await owner.page.getByRole('heading', { name: 'Make your passkey' }).waitFor();
  expect(owner.page.url()).toBe(`${site.url}/setup`);
  expect(await owner.page.evaluate('history.length')).toBe(2);
  await owner.page.getByLabel('What shall your account be called?').fill('Ada');
  const codes = await owner.setUp('Laptop');
  expect(new Set(codes).size).toBe(8);
  expect(await owner.page.getByRole('banner').textContent()).toContain('Signed in as Ada');
  expect(await rows(owner.page, 'Passkeys')).toEqual([expect.stringContaining('Laptop')]);

  expect(await makeOwnerLink(site.db, Date.now())).toBeNull();
  const late = await site.visitor();
  await late.page.goto(link);
  await told(late.page, 'This link was used already.');
  await late.page.goto('/setup');
  await told(late.page, 'needs the whole link');
});

test('a passkey signs in, and leads to where the person wanted to go, never to another site', async () => {
  const person = await site.member('Grace');
  const { page } = person;
  await person.signOut();
  await page.goto('/account');
  expect(page.url()).toBe(`${site.url}/login?next=%2Faccount`);
  await person.signIn();
  await page.getByRole('heading', { name: 'Who gets into your account' }).waitFor();

  for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example/account', 'account']) {
    await person.signOut();
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await person.signIn();
    await page.waitForURL(`${site.url}/account`);
  }
  // Its dot taken out, this path reads like another host.
  await person.signOut();
  await page.goto('/login?next=/.//evil.example/');
  await person.signIn();
  await page.waitForURL(`${site.url}//evil.example/`);
  await page.goto('/login?next=/pair');
  expect(page.url()).toBe(`${site.url}/pair`);
  await page.goto('/');
  expect(page.url()).toBe(`${site.url}/account`);
});

test('check 19: whoever is not verified, has no passkey or has one of nobody is not let in', async () => {
  const person = await site.member();
  const { page } = person;
  await person.signOut();
  await page.goto('/login');
  await person.verifies(false);
  await person.signIn();
  await told(page, 'No passkey was confirmed');
  await person.verifies(true);

  const [passkey] = await person.credentials();
  const id = Buffer.from(passkey?.credentialId ?? '', 'base64').toString('base64url');
  const [row] = await site.db.delete(passkeys).where(eq(passkeys.id, id)).returning();
  await person.signIn();
  await told(page, 'This passkey is not known here');
  expect(page.url()).toContain('/login');

  // The counter as it was with an earlier use: a copy of the key signs somewhere else.
  await site.db.insert(passkeys).values({ ...(row as NonNullable<typeof row>), counter: 1_000 });
  await person.signIn();
  await told(page, 'does not hold');

  await person.addAuthenticator();
  await person.signIn();
  await told(page, 'No passkey was confirmed');
  expect(await page.context().cookies()).not.toContainEqual(expect.objectContaining({ name: 'repertoire' }));
});

test('check 21: a recovery code lets in once and leads to a new passkey; the lost one is removed, the last one stays', async () => {
  const person = await site.visitor();
  const { page } = person;
  await page.goto(await site.invitation('Lise'));
  const [code = ''] = await person.setUp('Lost phone');
  await person.signOut();
  await person.addAuthenticator();

  await useCode(page, code);
  await page.getByText('You came in with a recovery code.').waitFor();
  await page.getByLabel('Name of a further passkey').fill('New phone');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await told(page, 'The passkey was added.');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Passkeys');
  await confirm(page, 'Remove Lost phone', 'Remove');
  await told(page, 'The passkey “Lost phone” was removed.');
  expect(await rows(page, 'Passkeys')).toEqual([expect.stringContaining('New phone')]);
  await confirm(page, 'Remove New phone', 'Remove');
  await told(page, 'New phone is the last passkey of your account, so it stays');
  expect(await page.getByText('7 recovery codes are left').count()).toBe(1);

  await person.signOut();
  await useCode(page, code);
  await told(page, /code/i);
  expect(page.url()).toContain('/login');
  await person.signIn();
  await page.waitForURL('**/account');
});

test('a second passkey is suggested at once; passkeys are renamed, recovery codes made anew', async () => {
  const person = await site.visitor();
  const { page } = person;
  await page.goto(await site.invitation('Emmy'));
  await page.getByLabel('Name of this passkey').fill('Laptop');
  await page.getByRole('button', { name: 'Make the passkey' }).click();
  const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem');
  await codes.first().waitFor();
  const [old = ''] = await codes.allTextContents();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  expect((await download).suggestedFilename()).toBe('repertoire-recovery-codes.txt');
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByRole('button', { name: 'Add a second passkey' }).click();
  // The same authenticator is no second one.
  await told(page, 'has a passkey of this account already');
  await person.addAuthenticator();
  await page.getByLabel('Name of the second passkey').fill('Key ring');
  await page.getByRole('button', { name: 'Add a second passkey' }).click();
  await page.waitForURL('**/account#passkeys');
  expect(await rows(page, 'Passkeys')).toHaveLength(2);

  await page.getByLabel('Rename Key ring').click();
  await page.getByLabel('New name').last().fill('Blue key');
  await page.getByRole('button', { name: 'Save' }).last().click();
  await told(page, 'The passkey has its new name.');
  expect(await rows(page, 'Passkeys')).toContainEqual(expect.stringContaining('Blue key'));

  await confirm(page, 'Make new codes', 'Make new codes');
  await codes.first().waitFor();
  expect(await codes.allTextContents()).toHaveLength(8);
  await person.signOut();
  await useCode(page, old);
  await told(page, /code/i);
});

test('a session that is ended elsewhere is over with its next request; so is everything, when all is revoked', async () => {
  const person = await site.member();
  const { page } = person;
  const other = await site.visitor();
  for (const credential of await person.credentials()) await other.addCredential(credential);
  const visit = async () => {
    await other.page.goto('/login');
    await other.signIn();
    await other.page.waitForURL('**/account');
    await page.reload();
  };
  await visit();
  await confirm(page, 'End Chrome on Linux', 'End');
  await told(page, 'The session of “Chrome on Linux” was ended.');
  await other.page.reload();
  expect(other.page.url()).toContain('/login?next=');

  await visit();
  await confirm(page, 'Revoke everything', 'Revoke everything');
  await told(page, 'Everything else was signed out and disconnected.');
  expect(await rows(page, 'Sessions')).toEqual([expect.stringContaining('this browser')]);
  await other.page.reload();
  expect(other.page.url()).toContain('/login?next=');
});

test('what lets somebody in needs a fresh passkey: a token, shown once, and an invitation', async () => {
  const person = await site.member('Rosalind');
  const { page } = person;
  const stale = async () => {
    const [account] = await site.db.select().from(accounts).where(eq(accounts.name, 'Rosalind'));
    await site.db
      .update(sessions)
      .set({ verifiedAt: 0 })
      .where(eq(sessions.accountId, account?.id ?? ''));
  };
  await stale();
  await page.getByText('Make a token').click();
  await page.getByLabel('Name', { exact: true }).fill('Backup');
  await person.verifies(false);
  await page.getByRole('button', { name: 'Make the token' }).click();
  await told(page, 'No passkey was confirmed');
  await person.verifies(true);
  await page.getByRole('button', { name: 'Make the token' }).click();
  const token = await shownOnce(page, 'tokens');
  expect(token).toMatch(/^sk_/);
  const call = () => fetch(`${site.url}/api/v1/items`, { headers: { authorization: `Bearer ${token}` } });
  expect((await call()).status).toBe(200);
  await page.reload();
  expect(await page.content()).not.toContain(token);
  await confirm(page, 'Revoke Backup', 'Revoke');
  await told(page, 'The API token “Backup” was revoked.');
  expect((await call()).status).toBe(401);

  await stale();
  await page.getByLabel('Name of the guest').fill('Katherine');
  await page.getByRole('button', { name: 'Make an invitation' }).click();
  const guest = await site.visitor();
  await guest.page.goto(await shownOnce(page, 'invitations'));
  await guest.setUp();
  expect(await guest.page.getByRole('banner').textContent()).toContain('Signed in as Katherine');
  expect(await guest.page.getByText('There is no API token.').count()).toBe(1);

  await page.reload();
  await page.getByLabel('Name of the guest').fill('Nobody');
  await page.getByRole('button', { name: 'Make an invitation' }).click();
  const link = await shownOnce(page, 'invitations');
  await page.reload();
  expect(await rows(page, 'Invitations')).toEqual([expect.stringContaining('Nobody')]);
  await confirm(page, 'Take back Nobody', 'Take back');
  await told(page, 'The invitation of “Nobody” was taken back.');
  const late = await site.visitor();
  await late.page.goto(link);
  await told(late.page, 'was taken back');
});

async function shownOnce(page: Page, section: string): Promise<string> {
  const output = page.locator(`#${section} output`);
  await output.waitFor();
  return (await output.textContent()) ?? '';
}

function rows(page: Page, list: string): Promise<string[]> {
  return page.getByRole('list', { name: list }).locator('> li').allTextContents();
}

async function useCode(page: Page, code: string): Promise<void> {
  await page.goto('/login');
  await page.getByText('I have lost my passkey').click();
  await page.getByLabel('Recovery code').fill(code);
  await page.getByRole('button', { name: 'Sign in with the code' }).click();
}
