import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sentence } from '../../../agent/cli/failure.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'repertoire-failure-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('what the system refuses is told with the path and, where something can be done, what', () => {
  const file = join(folder, 'locked');
  writeFileSync(file, 'text');
  expect(failing(join(folder, 'none'))).toBe(`${join(folder, 'none')} does not exist.`);
  expect(failing(join(file, 'below'))).toBe(
    process.platform === 'win32'
      ? `${join(file, 'below')} does not exist.`
      : `${join(file, 'below')} leads through something that is no folder.`,
  );
  const denied = Object.assign(new Error('EACCES'), { code: 'EACCES', path: file });
  expect(sentence(denied)).toBe(
    `${file} may not be read or written by you; change its permissions, or name another.`,
  );
});

function failing(path: string): string {
  try {
    readFileSync(path);
  } catch (error) {
    return sentence(error);
  }
  return 'nothing failed';
}
