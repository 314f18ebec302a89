import { hash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openRoot, type Root, type RootOptions } from '../../../agent/disk/containment.ts';

export const bytes = (text: string) => new TextEncoder().encode(text);
export const digest = (text: string) => hash('sha256', text, 'hex');

/** A home folder with one client folder in it, gone after the test. */
export function freshHome(files: Record<string, string> = {}): { home: string; skills: string } {
  const home = mkdtempSync(join(tmpdir(), 'repertoire-disk-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const skills = join(home, 'skills');
  mkdirSync(skills);
  put(skills, files);
  return { home, skills };
}

export function freshRoot(
  files: Record<string, string> = {},
  options: RootOptions = {},
): Root & { home: string } {
  const { home, skills } = freshHome(files);
  return Object.assign(openRoot(skills, options), { home });
}

export function put(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Every file below a folder by its path, links and folders without content marked. */
export function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  if (!existsSync(folder)) return found;
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const stat = lstatSync(join(folder, name));
    if (stat.isFile()) found[name] = readFileSync(join(folder, name), 'utf8');
    else if (!stat.isDirectory()) found[name] = '(link)';
    else if (readdirSync(join(folder, name)).length === 0) found[name] = '(empty)';
  }
  return found;
}

/** Names left in a folder of the store. */
export function left(root: Root, folder: 'staging' | 'trash' | 'kept'): string[] {
  const path = join(root.store, folder);
  return existsSync(path) ? readdirSync(path) : [];
}

/** Contents of what was moved to the trash. */
export function trashed(root: Root): string[] {
  return left(root, 'trash').map((id) => readFileSync(join(root.store, 'trash', id, 'old'), 'utf8'));
}

/** Does something once, at the n-th time that a step comes (from 1). */
export function once(step: string, act: () => void, n = 1): (now: string) => void {
  let count = 0;
  return (now) => {
    if (now === step && ++count === n) act();
  };
}

export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected`), { code });
}
