import type { Page } from 'playwright-core';
import { afterAll, afterEach, expect, test as nodeTest, vi } from 'vitest';
import { Site } from './site.ts';

// How long a browser takes says nothing about what it shows.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/**
 * A site for the tests of one file, which are skipped where there is no browser. After each test nothing may have gone
 * wrong on the side: no script failed, nothing broke the content security policy.
 */
export async function browserTests(
  options: Parameters<typeof Site.open>[0] = {},
): Promise<{ site: Site; test: typeof nodeTest }> {
  const site = await Site.open(options);
  if (!site) {
    console.warn('SKIPPED: the browser tests need Linux on x64, or an installed Chrome.');
    return { site: undefined as never, test: nodeTest.skip as typeof nodeTest };
  }
  afterEach(async () => expect(await site.leave()).toEqual([]));
  afterAll(() => site.close());
  return { site, test: nodeTest };
}

/** Waits until the page tells this of the last act. */
export async function told(page: Page, text: string | RegExp): Promise<void> {
  await page.getByRole('alert').filter({ hasText: text }).waitFor();
}

/** Presses a button, and the one with `verb` in the question that follows. */
export async function confirm(page: Page, button: string, verb: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
}
