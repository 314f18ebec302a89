import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { afterAll, expect } from 'vitest';
import { pairings } from '../../worker/db/tables/devices.ts';
import { sessions } from '../../worker/db/tables/people.ts';
import { Computer, ROOT } from '../agent/cli/harness.ts';
import { browserTests, confirm, told } from './harness.ts';

const { site, test } = await browserTests();
const folder = mkdtempSync(join(tmpdir(), 'repertoire-pairing-'));
const computers: Computer[] = [];

afterAll(() => {
  for (const computer of computers) computer.end();
  rmSync(folder, { recursive: true });
});

test('a person who opens the link sees what the terminal shows, approves with the passkey, and the terminal goes on', async () => {
  const { page, ...shown } = await waiting('laptop');
  await page.goto(shown.link);
  const facts = await page.locator('.facts').textContent();
  for (const fact of [shown.code, shown.words, 'this computer', process.platform])
    expect(facts).toContain(fact);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Pair “laptop”?');
  expect(await page.getByText('Continue only if you started this on your own machine.').isVisible()).toBe(
    true,
  );
  expect(await page.locator('.facts time').textContent()).toMatch(/just now|minute/);

  await site.db.update(sessions).set({ verifiedAt: 0 });
  await shown.person.verifies(false);
  await page.getByRole('button', { name: 'Approve' }).click();
  await told(page, 'No passkey was confirmed');
  await shown.person.verifies(true);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('“laptop” is paired.').waitFor();
  const paired = await shown.pairing.ended;
  expect([paired.code, paired.stdout]).toEqual([0, expect.stringContaining('as laptop.')]);

  await page.goto('/account');
  const devices = page.getByRole('list', { name: 'Devices' });
  expect(await devices.textContent()).toContain('laptop');
  await confirm(page, 'Revoke laptop', 'Revoke');
  await told(page, '“laptop” has no access any more.');
  expect(await devices.count()).toBe(0);
  const refused = await shown.computer.run(['list']);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
});

test('a person who types the code and denies it ends the waiting', async () => {
  const { page, pairing, code } = await waiting('stranger');
  await page.getByRole('link', { name: 'Pair a device' }).click();
  await page.getByLabel('Code that the device shows').fill(code.toLowerCase().replace('-', ' '));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('“stranger” was turned away.').waitFor();
  expect(await pairing.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('was denied') });
  await page.reload();
  expect(await page.getByRole('button', { name: 'Approve' }).isVisible()).toBe(false);
});

test('check 25: a code belongs to the session that opened it first; a link elsewhere opens none', async () => {
  const { page, person, link, code, pairing } = await waiting('claimed');
  await page.route('https://elsewhere.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<link rel="icon" href="data:,"><a href="${site.url}/pair?code=${code}">here</a>`,
    }),
  );
  await page.goto('https://elsewhere.example/');
  await page.getByRole('link', { name: 'here' }).click();
  expect(await page.getByLabel('Code that the device shows').inputValue()).toBe(code);
  const claimed = async () =>
    (await site.db.select().from(pairings).where(eq(pairings.userCode, code)))[0]?.claimedBy;
  expect(await claimed()).toBeNull();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  expect(await claimed()).toMatch(/^session:/);

  const same = await site.visitor();
  for (const credential of await person.credentials()) await same.addCredential(credential);
  await same.page.goto(link);
  await same.signIn();
  await told(same.page, 'was opened in another session first');
  const stranger = await site.member();
  await stranger.page.goto(link);
  await told(stranger.page, 'Somebody else has opened the code');
  pairing.child.kill('SIGINT');
});

test('check 24: a wrong or expired code says so; five of them lock', async () => {
  const { page, code, link, pairing } = await waiting('late');
  await site.db.update(pairings).set({ expiresAt: 0 }).where(eq(pairings.userCode, code));
  expect((await page.goto(link))?.status()).toBe(404);
  await told(page, `No device waits with the code ${code}`);
  for (const wrong of ['BBBB-BBBB', 'BBBB-BBBC', 'BBBB-BBBD', 'BBBB-BBBF']) {
    await page.goto(`/pair?code=${wrong}`);
    await told(page, `No device waits with the code ${wrong}`);
  }
  const locked = await page.goto('/pair?code=BBBB-BBBG');
  expect(locked?.status()).toBe(429);
  expect(Number(await locked?.headerValue('retry-after'))).toBeGreaterThan(0);
  await told(page, 'Locked for a while');
  await page.goto('/account');
  expect(await page.getByText('Five wrong pairing codes were typed').count()).toBe(1);
  pairing.child.kill('SIGINT');
});

test.each(['<img src=x onerror=alert(1)>', 'safe\u200Bname', '"><script>alert(1)</script>'])(
  'a device called %j is shown as that, and runs nothing',
  async (name) => {
    const { page, link, pairing } = await waiting(name);
    page.on('dialog', () => expect.unreachable('a script ran'));
    await page.goto(link);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      `Pair “${name.replace('\u200B', '<U+200B>')}”?`,
    );
    await page.getByRole('button', { name: 'Approve' }).click();
    await pairing.ended;
    await page.goto('/account');
    expect(await page.getByRole('list', { name: 'Devices' }).textContent()).toContain(
      name.replace('\u200B', '<U+200B>'),
    );
  },
);

/** A person who is signed in, and a computer that waits to be let in. */
async function waiting(name: string) {
  const person = await site.member();
  const computer = new Computer(folder, `computer-${computers.length}`, join(ROOT, 'agent/main.ts'));
  computers.push(computer);
  const pairing = computer.start(['pair', site.url, '--name', name]);
  const [, code = ''] = await pairing.saw(/Code +([A-Z]{4}-[A-Z]{4})/);
  const [, link = ''] = await pairing.saw(/Link +(http\S+)/);
  const [, words = ''] = await pairing.saw(/Fingerprint +(\S+)/);
  return { person, page: person.page, computer, pairing, code, link, words };
}
