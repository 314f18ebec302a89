import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGE = join(ROOT, 'node_modules/@sparticuz/chromium/package.json');

const FONTS = 'fonts.conf';

/** A browser: on Linux the one that npm installed, elsewhere an installed Chrome; null where there is none. */
export async function launchBrowser(): Promise<Browser | null> {
  if (process.platform === 'linux' && process.arch === 'x64') {
    const folder = await unpacked();
    return chromium.launch({
      executablePath: join(folder, 'chromium'),
      env: { ...process.env, FONTCONFIG_FILE: join(folder, FONTS) },
      // Root may not start it otherwise.
      chromiumSandbox: false,
    });
  }
  return chromium.launch({ channel: 'chrome' }).catch(() => null);
}

/** Unpacked once for all test files, which may ask at once: whoever is ready first moves it into place. */
async function unpacked(): Promise<string> {
  const cache = join(ROOT, 'node_modules/.cache/chromium');
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const folder = join(cache, version);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const own = await mkdtemp(join(cache, 'unpacking-'));
  // The package unpacks into the temporary folder, whichever that is.
  const script = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
  await promisify(execFile)(process.execPath, ['--eval', script], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: own },
  });
  await writeFile(join(own, FONTS), fontConfiguration(join(folder, 'fonts')));
  try {
    await rename(own, folder);
  } catch (error) {
    await rm(own, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** The package's font for everything: where none is found, as on a bare machine, this Chromium dies. */
function fontConfiguration(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;
}
