import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ORIGIN, openTestApi } from '../api/harness.ts';
import { signedIn } from '../auth/signed-in.ts';
import { readAssets } from './assets.ts';

const PAGE = { accept: 'text/html,application/xhtml+xml' };

test('whoever is not signed in is led to sign in, and from there to where they wanted to go', async () => {
  const { call } = await openTestApi();
  for (const path of ['/account', '/pair', '/pair?code=BBBB-BBBB']) {
    const { status, headers } = await call(path, { headers: PAGE });
    expect([status, headers.get('location')]).toEqual([302, `/login?next=${encodeURIComponent(path)}`]);
  }
  expect((await call('/', { headers: PAGE })).text).toContain('href="/login"');
});

test('whoever is signed in needs no sign-in page', async () => {
  const api = await openTestApi();
  const { headers } = await signedIn(api);
  for (const [path, to] of [
    ['/', '/account'],
    ['/login', `${ORIGIN}/account`],
    ['/login?next=%2Fpair%3Fcode%3DX', `${ORIGIN}/pair?code=X`],
    ['/login?next=%2F%2Fevil.example', `${ORIGIN}/account`],
  ] as const) {
    const answer = await api.call(path, { headers: { ...PAGE, ...headers } });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, to]);
  }
  // A page is for a browser's session: a script's token opens the API.
  const token = await api.token();
  expect((await api.call('/account', { token, headers: PAGE })).status).toBe(302);
});

test('the page for the code of a device names the whole command that shows one', async () => {
  const api = await openTestApi();
  const { headers } = await signedIn(api);
  const { text } = await api.call('/pair', { headers: { ...PAGE, ...headers } });
  expect(text).toContain(`<code>repertoire pair ${ORIGIN}</code>`);
});

test('every page forbids foreign scripts and frames, is kept nowhere and has no script or style in it', async () => {
  const api = await openTestApi();
  const { headers } = await signedIn(api);
  for (const path of ['/', '/setup', '/login', '/nowhere', '/account', '/pair', '/pair?code=BBBB-BBBB']) {
    const who = path === '/account' || path.startsWith('/pair') ? headers : {};
    const page = await api.call(path, { headers: { ...PAGE, ...who } });
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'",
    );
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.text).not.toMatch(/<script(?![^>]* src="\/assets\/)|<style|\sstyle=|\son\w+=/);
  }
});

test('a terminal gets text; what is nowhere is a page for a browser and a problem for a program', async () => {
  const { call } = await openTestApi();
  expect((await call('/')).text).toContain(`repertoire pair ${ORIGIN}`);
  expect((await call('/pair?code=BCDF-GHJK')).text).toContain('repertoire approve BCDF-GHJK');
  expect((await call('/pair?code=%3Cscript%3E')).text).toContain('repertoire approve CODE');
  expect((await call('/nowhere')).problem.code).toBe('not_found');
  const page = await call('/nowhere', { headers: PAGE });
  expect([page.status, page.text]).toEqual([404, expect.stringContaining('<h1>Nothing is here</h1>')]);
});

test('on a person’s own machine pages are at localhost, since a passkey belongs to a name', async () => {
  const { call } = await openTestApi({ loopbackOnly: true });
  for (const host of ['127.0.0.1', '[::1]']) {
    const { status, headers } = await call(`http://${host}:8787/pair?code=X`, { headers: PAGE });
    expect([status, headers.get('location')]).toEqual([302, 'http://localhost:8787/pair?code=X']);
  }
  expect((await call('http://127.0.0.1:8787/')).status).toBe(200);
});

test('a browser asks for a file again only when it has changed; there is nothing but the files', async () => {
  const { call } = await openTestApi();
  const first = await call('/assets/style.css');
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
  const etag = first.headers.get('etag') ?? '';
  const again = await call('/assets/style.css', { headers: { 'if-none-match': etag } });
  expect([again.status, again.text]).toEqual([304, '']);
  expect((await call('/assets/style.css', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  for (const name of ['none.js', 'constructor', 'tsconfig.json', '..%2Fassets.ts'])
    expect((await call(`/assets/${name}`)).status).toBe(404);
});

test('what pages and scripts load is there, in the Worker as in the tests', async () => {
  const assets = readAssets();
  const bundled = readFileSync('worker/assets.ts', 'utf8').matchAll(/^ {2}'(\S+)':/gm);
  expect([...bundled].map(([, name]) => name).sort()).toEqual(Object.keys(assets).sort());
  const api = await openTestApi();
  const { headers } = await signedIn(api);
  const loaded = new Set<string>();
  for (const path of ['/setup', '/login', '/account', '/pair']) {
    const who = path === '/account' || path === '/pair' ? headers : {};
    const { text } = await api.call(path, { headers: { ...PAGE, ...who } });
    for (const [, name = ''] of text.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)) loaded.add(name);
  }
  for (const text of Object.values(assets))
    for (const [, name = ''] of text.matchAll(/^import .* from '\.\/(.+)';$/gm)) loaded.add(name);
  expect(Object.keys(assets)).toEqual(expect.arrayContaining([...loaded]));
  expect(loaded.size).toBeGreaterThan(8);
});
