import { join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import type { Confirmation } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { ItemSummary, Kind } from '../../schema/item.ts';
import { openRecords } from '../state.ts';
import { type Added, reportAdded, reportAddedJson } from './added.ts';
import {
  type Cli,
  type ConnectionFlags,
  examples,
  registryCommand,
  withConfirm,
  withJson,
  withKind,
} from './cli.ts';
import { CommandFailed, sentence, WrongUsage } from './failure.ts';
import { findSources, type Source } from './import/find.ts';
import { type ReadItem, readItem } from './import/read.ts';
import { sendItem } from './import/send.ts';
import { openSession, type Session } from './session.ts';

interface AddFlags extends ConnectionFlags {
  kind?: Kind;
  update?: true;
  rename?: true;
  confirm?: Confirmation[];
  json?: true;
}

/** Requests under way at once: the registry's writes queue behind one another, so that more gains nothing. */
const PARALLEL = 5;

/** `add`: skills and personas from disk into the registry. */
export function addAddCommand(program: Command, cli: Cli): void {
  const add = withConfirm(
    withJson(withKind(registryCommand(program, 'add', 'add skills and personas from disk, many at once'))),
  )
    .argument('<path...>', 'an item, a folder of items at any depth, or a persona file')
    .option('--update', 'where the registry has another version, make this its next revision')
    .option('--rename', 'where a name breaks the rule, take the nearest that keeps it')
    .action((paths: string[], flags: AddFlags) => addItems(cli, paths, flags));
  examples(
    add,
    'add ~/.claude/skills ~/.claude/agents',
    'add ./code-review',
    'add architect.md --kind persona',
    'add ./skills --update',
  );
}

async function addItems(cli: Cli, paths: string[], flags: AddFlags): Promise<void> {
  const { sources, results } = search(cli, paths, flags.kind);
  const { json, update, rename, confirm, kind: _, ...connection } = flags;
  const session = await openSession(cli, connection);
  const existing = await knownItems(session);
  const options = { executableBit: cli.paths.executableBit, rename: rename ?? false };
  const send = { executableBit: options.executableBit, update: update ?? false, confirm };
  const ours = ownFiles(cli);
  const claimed = new Map<string, { item: ReadItem; done: Promise<Added> }>();
  const stop = cli.environment.onStop();
  const progress = cli.output.progress('Adding', sources.length);
  let away = 0;

  async function one(source: Source): Promise<Added> {
    const path = shownPath(cli, source.path);
    if (stop.aborted || away >= PARALLEL) return { path, outcome: 'untried' };
    try {
      const item = readItem(source, options);
      const key = `${item.kind}/${item.name}`;
      const twin = claimed.get(key);
      if (!twin) {
        const done = attempt(path, () => bring(path, item, existing.get(key)));
        claimed.set(key, { item, done });
        return await done;
      }
      if (twin.item.digest === item.digest) return again(path, item, await twin.done);
      throw new CommandFailed(
        `is another ${item.kind} called ${item.name} than ${shownPath(cli, twin.item.source.path)}; rename one of them.`,
      );
    } catch (error) {
      const renamed = error instanceof RegistryError && error.code === 'invalid_name';
      return {
        path,
        outcome: 'failed',
        reason: `${sentence(error)}${renamed ? ' --rename takes that.' : ''}`,
      };
    }
  }

  async function bring(path: string, item: ReadItem, known: ItemSummary | undefined): Promise<Added> {
    const { notes, source, files } = item;
    const written = ours.get(source.path);
    if (known && written !== undefined && written === files[0]?.digest) {
      return { path, outcome: 'unchanged', item: known, notes };
    }
    const sent = await sendItem(session.registry, item, known, send);
    away = 0;
    return { path, outcome: sent.outcome, item: sent.item, notes };
  }

  async function attempt(path: string, act: () => Promise<Added>): Promise<Added> {
    try {
      return await act();
    } catch (error) {
      const code = error instanceof RegistryError ? error.code : null;
      if (code === 'unavailable') away++;
      if (code === 'unauthorized' || code === 'insufficient_scope') away = PARALLEL;
      return { path, outcome: 'failed', reason: sentence(error) };
    }
  }

  const added: Added[] = Array.from({ length: sources.length });
  const queue = sources.entries();
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const [at, source] of queue) {
        added[at] = await one(source);
        progress.step();
      }
    }),
  );
  progress.end();
  const all = [...results, ...added];
  if (all.some(({ outcome }) => outcome === 'failed' || outcome === 'untried')) cli.failed = true;
  if (json) reportAddedJson(cli, all);
  else reportAdded(cli, all);
}

/** What becomes of a second copy of what is in this import already. */
function again(path: string, { notes }: ReadItem, first: Added): Added {
  if (first.outcome === 'untried') return { path, outcome: 'untried' };
  if (first.outcome === 'failed')
    return { path, outcome: 'failed', reason: `is the same as ${first.path}, which failed.` };
  return { path, outcome: 'unchanged', item: first.item, notes };
}

/** Everything to add, each thing once, and what looked like an item and is none. */
function search(cli: Cli, paths: string[], kind: Kind | undefined): { sources: Source[]; results: Added[] } {
  const sources = new Map<string, Source>();
  const results: Added[] = [];
  // What an unset variable of a shell leaves would be the folder where the person is.
  if (paths.includes('')) throw new WrongUsage('One of the paths is empty; name what to add.');
  for (const path of paths) {
    const full = resolve(cli.environment.cwd, path);
    try {
      const found = findSources(full, kind);
      for (const source of found.sources) sources.set(source.path, source);
      for (const misfit of found.misfits) {
        results.push({ path: shownPath(cli, misfit.path), outcome: 'failed', reason: misfit.reason });
      }
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist.' : sentence(error);
      results.push({ path: shownPath(cli, full), outcome: 'failed', reason });
    }
  }
  return { sources: [...sources.values()], results };
}

async function knownItems({ registry }: Session): Promise<Map<string, ItemSummary>> {
  const { items } = await registry.list({ removed: true });
  return new Map(items.map((item) => [`${item.kind}/${item.name}`, item]));
}

/** Digests of the persona files that the agent made, by path: they are copies in a client's format, not new items. */
function ownFiles({ state }: Cli): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, placed] of openRecords(state, { readOnly: true }).ledger.entries()) {
    const digest = placed.files[placed.at]?.digest;
    if (placed.kind === 'persona' && digest !== undefined) files.set(join(placed.folder, placed.at), digest);
  }
  return files;
}

/** A path as short as it can be said from where the person is. */
function shownPath({ environment }: Cli, path: string): string {
  const below = (folder: string) => {
    const way = relative(folder, path);
    return way.startsWith('..') || way === path ? null : way;
  };
  const here = below(environment.cwd);
  if (here !== null) return here === '' ? '.' : here;
  const home = below(environment.home);
  return home === null ? path : `~${sep}${home}`;
}
