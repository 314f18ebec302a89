import { join } from 'node:path';
import { startChild } from './child.ts';
import { connect } from './mcp.ts';
import type { RegistryOrder, RegistryReady } from './registry.ts';
import { type Row, type Scenario, timed } from './scenario.ts';

/** Characters of SKILL.md; the second fills one answer. */
const SIZES = { small: 500, long: 20_000 };
const WARM_UP = 30;

export const get: Scenario = {
  name: 'get',
  about: 'skills(action="get") over a warm MCP connection',
  async run({ folder, rounds, say }) {
    const order: RegistryOrder = { data: join(folder, 'get'), accounts: [{ items: 24, named: SIZES }] };
    const registry = await startChild<RegistryReady>('registry.ts', order);
    try {
      const mcp = await connect({ url: registry.ready.url, token: registry.ready.tokens[0] ?? '' }, 'legacy');
      const beside = { what: 'ping on the same connection', ms: [] as number[] };
      const rows: Row[] = Object.values(SIZES).map((size) => ({
        name: `skills get, ${size.toLocaleString('en')} characters`,
        ms: [],
        beside,
      }));
      const count = rounds ?? 200;
      for (let round = -WARM_UP; round < count; round++) {
        if (round % 100 === 0) say(`get: round ${round} of ${count}`);
        const took = [await timed(mcp.ping)];
        for (const name of Object.keys(SIZES))
          took.push(await timed(() => mcp.call('skills', { action: 'get', name })));
        if (round < 0) continue;
        const [ping, ...gets] = took;
        beside.ms.push(ping ?? Number.NaN);
        for (const [index, ms] of gets.entries()) rows[index]?.ms.push(ms);
      }
      await mcp.close();
      return rows;
    } finally {
      await registry.stop();
    }
  },
};
