import { percentile, type Row } from './scenario.ts';

interface Summary {
  name: string;
  rounds: number;
  p50_ms: number;
  p95_ms: number;
  beside: { what: string; p50_ms: number; p95_ms: number; times: number } | null;
  bar: Row['bar'] | null;
  /** Null where there is no bar, or nothing to hold it against. */
  met: boolean | null;
}

export function summarize({ name, ms, beside, bar }: Row): Summary {
  const [p50, p95] = [percentile(ms, 0.5), percentile(ms, 0.95)];
  const floor = beside && { p50_ms: percentile(beside.ms, 0.5), p95_ms: percentile(beside.ms, 0.95) };
  const times = floor && p50 / floor.p50_ms;
  const held = [
    [bar?.p50, p50],
    [bar?.p95, p95],
    [bar?.times, times],
  ].filter((pair): pair is [number, number] => typeof pair[0] === 'number' && typeof pair[1] === 'number');
  return {
    name,
    rounds: ms.length,
    p50_ms: p50,
    p95_ms: p95,
    beside: beside && floor && times !== null ? { what: beside.what, ...floor, times } : null,
    bar: bar ?? null,
    met: held.length === 0 ? null : held.every(([most, is]) => is <= most),
  };
}

/** Aligned plain text. */
export function formatTable(rows: readonly Summary[]): string {
  const head = ['', 'p50', 'p95', 'beside it', 'p50', 'p95', 'ratio', 'bar', 'verdict'];
  const lines = rows.map(({ name, p50_ms, p95_ms, beside, bar, met }) => [
    name,
    figure(p50_ms),
    figure(p95_ms),
    beside?.what ?? '',
    beside ? figure(beside.p50_ms) : '',
    beside ? figure(beside.p95_ms) : '',
    beside ? `${beside.times.toFixed(2)}×` : '',
    barText(bar),
    met === null ? '' : met ? 'met' : 'missed',
  ]);
  const numeric = new Set([1, 2, 4, 5, 6]);
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    numeric.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return [
    'Milliseconds; ratio of the two p50.',
    '',
    ...all.map((line) => line.map(pad).join('  ').trimEnd()),
  ].join('\n');
}

function figure(ms: number): string {
  return ms < 100 ? ms.toFixed(1) : ms.toFixed(0);
}

function barText(bar: Summary['bar']): string {
  if (!bar) return '';
  const { p50, p95, times } = bar;
  return [
    p50 === undefined ? '' : `p50 ≤ ${p50}`,
    p95 === undefined ? '' : `p95 ≤ ${p95}`,
    times === undefined ? '' : `≤ ${times}×`,
  ]
    .filter(Boolean)
    .join(', ');
}
