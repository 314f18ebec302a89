import { type Row, timed } from './scenario.ts';

/** Skills that have to do with the server. */
export const SIZES = [0, 20, 200] as const;
/** What a host may add to the server's own time, with as many skills as the last size. */
const ADDED_MS = 5;
const WARM_UP = 30;

/** One request there and back, read to its last byte. */
export type Call = () => Promise<unknown>;

export interface Compared {
  /** What skills ride in. */
  host: 'gateway' | 'wrapper';
  /** `tools/list` of the server itself. */
  direct: Call;
  /** `tools/list` of the host, by the number of skills. */
  through: ReadonlyMap<number, Call>;
  /** What getting to the host and back costs by itself. */
  floor: { what: string; call: Call };
  rounds: number;
  say: (line: string) => void;
}

/**
 * Rows of the two calls beside each other, and of what the host adds: each call through it less the direct one right
 * before it. The floor is measured in the same rounds.
 */
export async function compare({ host, direct, through, floor, rounds, say }: Compared): Promise<Row[]> {
  const series = [...through].map(([skills, call]) => ({
    skills,
    call,
    took: [] as number[],
    directly: [] as number[],
  }));
  const least: number[] = [];
  for (let round = -WARM_UP; round < rounds; round++) {
    if (round % 50 === 0) say(`riding-${host}: round ${round} of ${rounds}`);
    const empty = await timed(floor.call);
    if (round >= 0) least.push(empty);
    for (const { call, took, directly } of series) {
      const without = await timed(direct);
      const within = await timed(call);
      if (round < 0) continue;
      directly.push(without);
      took.push(within);
    }
  }
  return series.flatMap(({ skills, took, directly }): Row[] => {
    const name = `tools/list, ${host}, ${skills} skills`;
    const added = took.map((ms, index) => ms - (directly[index] ?? 0));
    const row: Row = { name: `${name}: added`, ms: added, beside: { what: floor.what, ms: least } };
    return [
      { name, ms: took, beside: { what: 'direct', ms: directly } },
      skills === SIZES.at(-1) ? { ...row, bar: { p50: ADDED_MS } } : row,
    ];
  });
}
