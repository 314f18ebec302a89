/** What a run is asked for. */
export interface BenchOptions {
  /** Measurements of each row; null takes the scenario's own number. */
  rounds: number | null;
  /** For everything that is written; gone afterwards. */
  folder: string;
  /** Program of the npm package `skills`, where it is there. */
  skillsBin: string | null;
  say: (line: string) => void;
}

/** One row: what was measured, and beside it what the same machine needs for the least that could do. Milliseconds. */
export interface Row {
  name: string;
  ms: number[];
  beside: { what: string; ms: number[] } | null;
  /** From the aims of the design: at most so many milliseconds, or so many times what stands beside. */
  bar?: { p50?: number; p95?: number; times?: number };
}

export interface Scenario {
  name: string;
  about: string;
  run(options: BenchOptions): Promise<Row[]>;
}

/** Nearest rank. */
export function percentile(ms: readonly number[], share: number): number {
  const sorted = ms.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (ms: readonly number[]): number => percentile(ms, 0.5);

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
