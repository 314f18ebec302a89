import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Assets } from '../../../worker/dashboard/assets.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DASHBOARD = join(ROOT, 'worker/dashboard');

/** The files that bundlers take into the Worker as text, read where no bundler is. */
export function readAssets(): Assets {
  const files = {
    'icon.svg': join(DASHBOARD, 'icon.svg'),
    'style.css': join(DASHBOARD, 'style.css'),
    'webauthn.js': join(ROOT, 'node_modules/@simplewebauthn/browser/dist/bundle/index.umd.min.js'),
    ...Object.fromEntries(
      readdirSync(join(DASHBOARD, 'client'))
        .filter((name) => name.endsWith('.js'))
        .map((name) => [name, join(DASHBOARD, 'client', name)]),
    ),
  };
  return Object.fromEntries(Object.entries(files).map(([name, path]) => [name, readFileSync(path, 'utf8')]));
}
