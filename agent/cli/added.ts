import type { ItemSummary } from '../../schema/item.ts';
import type { Cli } from './cli.ts';
import { counted, wrap } from './text.ts';

/** What became of one thing that was found on disk. */
export type Added =
  | { path: string; outcome: 'added' | 'updated' | 'unchanged'; item: ItemSummary; notes: string[] }
  | { path: string; outcome: 'failed'; reason: string }
  /** The registry went away before its turn. */
  | { path: string; outcome: 'untried' };

/** The summary of an import for a person: how much, then each thing that needs a look. */
export function reportAdded({ output }: Cli, all: readonly Added[]): void {
  const { style, width } = output;
  const notes = all.flatMap((one) =>
    'notes' in one ? one.notes.map((note) => [one.path, note] as const) : [],
  );
  for (const [path, note] of notes) output.note(wrap(`note: ${path}: ${note}`, width, '  '));

  const of = (outcome: Added['outcome']) => all.filter((one) => one.outcome === outcome);
  const parts = [
    `${kinds(of('added'))} added`,
    ...(of('updated').length > 0 ? [`${of('updated').length} updated`] : []),
    ...(of('unchanged').length > 0 ? [`${of('unchanged').length} already there, unchanged`] : []),
    ...(of('failed').length > 0 ? [style.red(`${of('failed').length} failed`)] : []),
    ...(of('untried').length > 0 ? [style.red(`${of('untried').length} not tried`)] : []),
  ];
  output.line(`${parts.join(', ')}.`);

  const flagged = flagCounts(all);
  if (flagged.length > 0) {
    output.line();
    output.line(
      wrap('Kept as they are, though some client will not read them as meant (show NAME says more):', width),
    );
    output.table(
      [{ title: 'Items', align: 'right' }, { title: 'Flag' }, { title: 'Such as' }],
      flagged.map(({ code, names }) => [String(names.length), code, names.join(', ')]),
    );
  }
  const failed = all.filter((one) => one.outcome === 'failed');
  if (failed.length > 0) {
    output.line();
    output.line(style.bold('Failed'));
    for (const { path, reason } of failed) output.line(`  ${wrap(`${path}: ${reason}`, width - 2, '    ')}`);
  }
}

/** The same for a program. */
export function reportAddedJson({ output }: Cli, all: readonly Added[]): void {
  output.json({
    results: all.map((one) => {
      if (!('item' in one)) return one;
      const { path, outcome, notes, item } = one;
      const { kind, name, revision, digest, flags } = item;
      return { path, outcome, kind, name, revision, digest, flags, notes };
    }),
  });
}

function kinds(all: readonly Added[]): string {
  const count = (kind: string) => all.filter((one) => 'item' in one && one.item.kind === kind).length;
  const [skills, personas] = [count('skill'), count('persona')];
  if (skills === 0 && personas === 0) return 'Nothing';
  return [
    ...(skills > 0 ? [counted(skills, 'skill')] : []),
    ...(personas > 0 ? [counted(personas, 'persona')] : []),
  ].join(' and ');
}

function flagCounts(all: readonly Added[]): { code: string; names: string[] }[] {
  const byCode = new Map<string, string[]>();
  for (const one of all) {
    if (!('item' in one) || one.outcome === 'unchanged') continue;
    for (const code of new Set(one.item.flags.map((flag) => flag.code))) {
      byCode.set(code, [...(byCode.get(code) ?? []), one.item.name]);
    }
  }
  return [...byCode]
    .map(([code, names]) => ({ code, names }))
    .sort((a, b) => b.names.length - a.names.length || (a.code < b.code ? -1 : 1));
}
