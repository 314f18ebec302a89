import { type Row, timed } from './scenario.ts';

/** Skills that have to do with the server. */
export const SIZES = [0, 20, 200] as const;
/** What a host may add to the server's own time, with as many skills as the last size. */
const ADDED_MS = 5;
const WARM_UP = 60;

/** One request there and back, read to its last byte. */
export type Call = () => Promise<unknown>;

export interface Compared {
  /** What skills ride in. */
  host: 'gateway' | 'wrapper';
  /** `tools/list` of the server itself. */
  direct: Call;
  /** `tools/list` of the host, by the number of skills. */
  through: ReadonlyMap<number, Call>;
  /** The host's answer to the emptiest request. */
  ping: Call;
  /** `tools/list` through the least that could stand between; null where the ping shows what that costs. */
  least: { what: string; call: Call } | null;
  rounds: number;
  say: (line: string) => void;
}

/**
 * Rows of the two calls beside each other, and of what the host adds: each call through it less the direct one right
 * before it. All of them are measured in the same rounds.
 */
export async function compare(compared: Compared): Promise<Row[]> {
  const { host, direct, through, ping, least, rounds, say } = compared;
  const bare = least && series(least.call);
  const ours = [...through].map(([skills, call]) => ({ skills, ...series(call) }));
  const pings: number[] = [];
  for (let round = -WARM_UP; round < rounds; round++) {
    if (round % 50 === 0) say(`riding-${host}: round ${round} of ${rounds}`);
    const empty = await timed(ping);
    if (round >= 0) pings.push(empty);
    for (const { call, took, directly } of bare ? [bare, ...ours] : ours) {
      const without = await timed(direct);
      const within = await timed(call);
      if (round < 0) continue;
      directly.push(without);
      took.push(within);
    }
  }
  const floor = bare ? { what: least.what, ms: added(bare) } : { what: 'ping', ms: pings };
  return [
    { name: `ping, ${host}`, ms: pings, beside: null },
    ...ours.flatMap(({ skills, ...each }): Row[] => {
      const name = `tools/list, ${host}, ${skills} skills`;
      const row: Row = { name: `${name}: added`, ms: added(each), beside: floor };
      return [
        { name, ms: each.took, beside: { what: 'direct', ms: each.directly } },
        skills === SIZES.at(-1) ? { ...row, bar: { p50: ADDED_MS } } : row,
      ];
    }),
  ];
}

interface Series {
  call: Call;
  took: number[];
  directly: number[];
}

function series(call: Call): Series {
  return { call, took: [], directly: [] };
}

function added({ took, directly }: Series): number[] {
  return took.map((ms, index) => ms - (directly[index] ?? 0));
}
