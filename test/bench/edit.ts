import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, clock, startChild } from './child.ts';
import { instructions } from './fill.ts';
import type { FleetOrder } from './fleet.ts';
import { connect } from './mcp.ts';
import type { RegistryOrder, RegistryReady } from './registry.ts';
import type { BenchOptions, Row, Scenario } from './scenario.ts';

const FLOOR = fileURLToPath(new URL('floor-worker.ts', import.meta.url));
/** Name of the skill that is edited, and the length of its instructions. */
const EDITED = 'edited';
const CHARS = 4000;
const BARS = new Map([
  [1, { p50: 50, times: 2 }],
  [20, { p50: 100, p95: 250, times: 2 }],
]);
/** Agents tell what they wrote a moment after they wrote it; a round begins when that is over. */
const QUIET_MS = 450;
/** Between telling the observer what to look for and the call. */
const ARM_MS = 20;

export const edit: Scenario = {
  name: 'edit',
  about:
    'skill_edit over MCP until the new bytes are in both skill folders of every device; the devices are agents (paired, each with key, socket and folders) that share one process',
  async run(options) {
    const rows: Row[] = [];
    for (const [devices, bar] of BARS) rows.push({ ...(await editTo(devices, options)), bar });
    return rows;
  },
};

async function editTo(devices: number, { folder, rounds, say }: BenchOptions): Promise<Row> {
  const count = rounds ?? (devices === 1 ? 40 : 30);
  const named = devices === 1 ? '1 device' : `${devices} devices`;
  const children: Child<unknown>[] = [];
  async function start<T>(script: string, order: unknown): Promise<Child<T>> {
    const child = await startChild<T>(script, order);
    children.push(child);
    return child;
  }
  async function system(bare: boolean): Promise<System> {
    const home = join(folder, `edit-${devices}-${bare ? 'floor' : 'ours'}`);
    const order: RegistryOrder = {
      data: join(home, 'data'),
      ...(bare ? { entry: FLOOR } : {}),
      accounts: [bare ? {} : { items: 24, named: { [EDITED]: CHARS } }],
    };
    const registry = await start<RegistryReady>('registry.ts', order);
    const { url, tokens } = registry.ready;
    if (bare) await send(`${url}/make`);
    const fleet = await start<null>('fleet.ts', {
      url,
      token: tokens[0] ?? '',
      folder: home,
      devices,
      skill: EDITED,
      bare,
    } satisfies FleetOrder);
    return { url, token: tokens[0] ?? '', fleet };
  }
  try {
    say(`edit: ${named}, pairing …`);
    const [ours, floor] = [await system(false), await system(true)];
    const mcp = await connect(ours);
    const row: Row = {
      name: `edit → ${named}`,
      ms: [],
      beside: null,
    };
    const beside = { what: 'commit, ring, pull, synced writes', ms: [] as number[] };
    for (let round = -2; round < count; round++) {
      if (round % 20 === 0) say(`edit: ${named}, round ${round} of ${count}`);
      const text = (marker: string) => instructions(CHARS, marker);
      const call = (marker: string) =>
        mcp.call('skill_edit', { action: 'edit', kind: 'skill', name: EDITED, instructions: text(marker) });
      const took = await untilWritten(ours, `ours ${round}.`, call);
      const least = await untilWritten(floor, `floor ${round}.`, (marker) =>
        send(`${floor.url}/write`, text(marker)),
      );
      // The first ones warm up.
      if (round < 0) continue;
      row.ms.push(took);
      beside.ms.push(least);
    }
    await mcp.close();
    return { ...row, beside };
  } finally {
    for (const child of children.reverse()) await child.stop();
  }
}

interface System {
  url: string;
  token: string;
  fleet: Child<null>;
}

async function untilWritten(
  { fleet }: System,
  marker: string,
  call: (marker: string) => Promise<unknown>,
): Promise<number> {
  await sleep(QUIET_MS);
  const arrived = fleet.ask<number[]>(marker);
  await sleep(ARM_MS);
  const began = clock();
  await call(marker);
  return Math.max(...(await arrived)) - began;
}

async function send(url: string, body = ''): Promise<void> {
  const response = await fetch(url, { method: 'POST', body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
}
