import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const PROGRAM = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');

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
  const scenarios = new Map<string, Check[]>();
  for (const name of await readdir(out)) {
    const [, scenario = name] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(name) ?? [];
    scenarios.set(scenario, JSON.parse(await readFile(join(out, name, 'checks.json'), 'utf8')));
  }
  return scenarios;
}
