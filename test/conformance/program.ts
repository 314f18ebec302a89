import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Applies } from './expected.ts';

export const PROGRAM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/conformance/dist/index.js',
);

export interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

/** Runs the conformance program against a server; every scenario's checks by its name. `out` is a folder of its own. */
export async function runConformance(
  url: string,
  out: string,
  ...flags: string[]
): Promise<Map<string, Check[]>> {
  // Its exit code counts the scenarios that do not apply, so the checks themselves are read.
  await new Promise<void>((resolve) => {
    const flagged = [PROGRAM, 'server', '--url', url, '-o', out, ...flags];
    execFile(process.execPath, flagged, { timeout: 150_000 }, () => resolve());
  });
  return readChecks(out, 'server');
}

/** What the program wrote of its run on such a target. */
export async function readChecks(
  out: string,
  target: 'server' | 'authorization-server',
): Promise<Map<string, Check[]>> {
  const scenarios = new Map<string, Check[]>();
  for (const name of await readdir(out)) {
    const scenario = name.replace(`${target}-`, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    scenarios.set(scenario, JSON.parse(await readFile(join(out, name, 'checks.json'), 'utf8')));
  }
  return scenarios;
}

/** Expects what a scenario must show of its checks. */
export function judge(checks: readonly Check[] = [], { passed, cannot = {} }: Applies): void {
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  expect(
    failed.filter(({ id }) => !(id in cannot)).map(({ id, errorMessage }) => [id, errorMessage]),
  ).toEqual([]);
  expect(Object.keys(cannot).filter((id) => !failed.some((check) => check.id === id))).toEqual([]);
  expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThanOrEqual(passed);
}
