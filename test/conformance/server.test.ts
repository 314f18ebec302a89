import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Local, startLocal } from '../../worker/local/serve.ts';
import { openBearerProxy } from './bearer-proxy.ts';
import { type Applies, EXPECTED, SKILLS } from './expected.ts';
import { type Check, judge, runConformance } from './program.ts';

let folder: string;
let local: Local;
let proxy: Awaited<ReturnType<typeof openBearerProxy>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  local = await startLocal({ port: 0, data: join(folder, 'data') });
  proxy = await openBearerProxy(local.url, local.ownerToken ?? '');
  await create({
    kind: 'skill',
    files: {
      'SKILL.md': {
        text: '---\nname: deploy\ndescription: Ships it.\nmetadata:\n  team: "7"\n---\n\n# Deploy\n',
      },
      'references/a.md': { text: 'A' },
      'references/deep/b & c.md': { text: 'B' },
      'logo.png': { base64: 'iVBORwAA' },
    },
  });
  await create({ kind: 'persona', name: 'critic', description: 'Judges.', instructions: 'Judge.\n' });
});

afterAll(async () => {
  await proxy?.close();
  await local?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function create(body: object): Promise<void> {
  const answer = await fetch(`${proxy.url}/api/v1/items`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
}

/** Runs the program against the running Worker; every scenario's checks by its name. */
function run(output: string, ...flags: string[]): Promise<Map<string, Check[]>> {
  return runConformance(`${proxy.url}/mcp`, join(folder, output), ...flags);
}

describe.each(Object.keys(EXPECTED) as (keyof typeof EXPECTED)[])('requirements of %s', (revision) => {
  const { applies, doesNotApply } = EXPECTED[revision];
  let scenarios: Map<string, Check[]>;

  beforeAll(async () => {
    scenarios = await run(revision, '--requirements', revision);
  }, 180_000);

  test('every scenario is known here, as one that applies or not', () => {
    expect([...scenarios.keys()].sort()).toEqual(
      [...Object.keys(applies), ...Object.keys(doesNotApply)].sort(),
    );
  });

  test.each(Object.entries<Applies>(applies))('%s', (scenario, expected) => {
    judge(scenarios.get(scenario), expected);
  });
});

test.each(Object.entries<Applies>(SKILLS))('%s', async (scenario, expected) => {
  const scenarios = await run(scenario, '--scenario', scenario, '--spec-version', '2026-07-28', '--force');
  judge(scenarios.get(scenario), expected);
});
