import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from './child.ts';
import type { RegistryOrder, RegistryReady } from './registry.ts';
import { median, type Row, type Scenario, timed } from './scenario.ts';

const FLOOR = fileURLToPath(new URL('floor-worker.ts', import.meta.url));
const SIZES = [0, 100, 300, 10_000] as const;
const METHODS = ['initialize', 'server/discover'] as const;
const MODERN = '2026-07-28';
const WARM_UP = 30;

export const handshake: Scenario = {
  name: 'handshake',
  about: 'one handshake request over a warm connection, to accounts of the same registry with so many skills',
  async run({ folder, rounds, say }) {
    say(`handshake: filling registries of ${SIZES.join(', ')} items …`);
    const order: RegistryOrder = {
      data: join(folder, 'handshake'),
      accounts: SIZES.map((items) => ({ items })),
    };
    const registry = await startChild<RegistryReady>('registry.ts', order);
    const bare = await startChild<RegistryReady>('registry.ts', {
      data: join(folder, 'handshake-floor'),
      entry: FLOOR,
      accounts: [],
    } satisfies RegistryOrder);
    try {
      const { url, tokens } = registry.ready;
      const took = new Map<string, number[]>();
      const trips: number[] = [];
      const count = rounds ?? 80;
      for (let round = -WARM_UP; round < count; round++) {
        if (round % 50 === 0) say(`handshake: round ${round} of ${count}`);
        for (const method of METHODS) {
          for (const [index, items] of SIZES.entries()) {
            const ms = await timed(() => shake(url, tokens[index] ?? '', method));
            if (round >= 0) took.set(`${method} ${items}`, [...(took.get(`${method} ${items}`) ?? []), ms]);
          }
        }
        const many = await timed(() => get(`${bare.ready.url}/trips?n=6`));
        const one = await timed(() => get(`${bare.ready.url}/trips?n=1`));
        if (round >= 0) trips.push((many - one) / 5);
      }
      return rowsOf(took, median(trips));
    } finally {
      await registry.stop();
      await bare.stop();
    }
  },
};

function rowsOf(took: ReadonlyMap<string, number[]>, trip: number): Row[] {
  return METHODS.flatMap((method) => {
    const of = (items: number) => took.get(`${method} ${items}`) ?? [];
    const name = (items: number) => `${method}, ${items.toLocaleString('en')} items`;
    const beside = {
      what: `0 items + a round trip (${trip.toFixed(2)} ms)`,
      ms: of(0).map((ms) => ms + trip),
    };
    return [
      { name: name(0), ms: of(0), beside: null },
      { name: name(300), ms: of(300), beside, bar: { times: 2 } },
      { name: name(10_000), ms: of(10_000), beside, bar: { times: 2 } },
      // "Flat" has no number in the design; a quarter more is what two runs of the same differ by.
      {
        name: name(10_000),
        ms: of(10_000),
        beside: { what: '100 items', ms: of(100) },
        bar: { times: 1.25 },
      },
    ];
  });
}

async function shake(url: string, token: string, method: (typeof METHODS)[number]): Promise<void> {
  const client = { name: 'bench', version: '1' };
  const modern = method === 'server/discover';
  const params = modern
    ? {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': MODERN,
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': client,
        },
      }
    : { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: client };
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(modern ? { 'mcp-protocol-version': MODERN, 'mcp-method': method } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await response.text();
  if (!response.ok || !text.includes('"capabilities"'))
    throw new Error(`${method} was answered: ${text.slice(0, 300)}`);
}

async function get(url: string): Promise<void> {
  await (await fetch(url)).arrayBuffer();
}
