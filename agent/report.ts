import { join } from 'node:path';
import { z } from 'zod';
import type { ReportBody, ReportedFolder, ReportedItem } from '../schema/api.ts';
import { RegistryError } from '../schema/errors.ts';
import { readJson, writeJson } from './json-file.ts';
import type { FolderState } from './pass.ts';
import type { Registry } from './registry.ts';
import type { Fact, Records, StateFiles } from './state.ts';

export interface ReportDeps {
  files: StateFiles;
  records: Records;
  registry: Pick<Registry, 'report'>;
  /** Version of the agent. */
  version: string;
}

export interface Reporter {
  /**
   * Tells the registry what changed on disk since the last report that it took. One at a time; a call during another makes
   * one more. Resolves to the sentence of the failure when the registry could not be told: the next call tells it again.
   */
  send(
    state: { cursor: string | null; folders: readonly FolderState[] },
    signal?: AbortSignal,
  ): Promise<string | null>;
}

/** Folders that the registry knows of, so that one that is no longer written is taken back after a restart as well. */
const Reported = z.object({ version: z.literal(1), folders: z.array(z.string()) });

/** So that a report stays far below the 3 MiB of a request. */
const ITEMS_PER_REPORT = 2000;

interface Accepted {
  head: string;
  items: Map<string, string>;
}

/** The first report of a run is complete, so that nothing that an earlier one left out stays unknown. */
export function createReporter({ files, records, registry, version }: ReportDeps): Reporter {
  const path = join(files.folder, 'reported.json');
  const accepted = new Map<string, Accepted>();
  const texts = new WeakMap<Fact, string>();
  let reportedFolders = readJson(path, Reported)?.folders ?? [];
  let acceptedCursor: string | null | undefined;
  let running: Promise<string | null> = Promise.resolve(null);

  async function once(
    { cursor, folders }: Parameters<Reporter['send']>[0],
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const next = snapshots(folders);
    const changes = pack(folders.flatMap((folder) => folderChanges(folder, next, accepted)));
    const dropped = reportedFolders.filter((known) => !next.has(known));
    const events = [...records.events.entries()];
    if (changes.length + dropped.length + events.length === 0 && cursor === acceptedCursor) return null;
    const parts = Math.max(1, changes.length, Math.ceil(events.length / ITEMS_PER_REPORT));
    try {
      for (let part = 0; part < parts; part++) {
        const told = events.slice(part * ITEMS_PER_REPORT, (part + 1) * ITEMS_PER_REPORT);
        const last = part === parts - 1;
        const body: ReportBody = {
          // Only the last part says how far the device is, for before it the registry has not been told all.
          cursor: last ? cursor : null,
          agent_version: version,
          folders: changes[part] ?? [],
          dropped: part === 0 ? dropped : [],
          events: told.map(([, event]) => event),
        };
        await registry.report(body, signal);
        records.events.write(told.map(([id]) => [id, null]));
      }
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      return error.message;
    }
    accepted.clear();
    for (const [folder, items] of next) accepted.set(folder, items);
    acceptedCursor = cursor;
    if (JSON.stringify([...next.keys()]) !== JSON.stringify(reportedFolders)) {
      reportedFolders = [...next.keys()];
      writeJson(path, { version: 1, folders: reportedFolders } satisfies z.infer<typeof Reported>);
    }
    return null;
  }

  /** What the registry should know. A fact that did not change is the same object, and is not written out again. */
  function snapshots(folders: readonly FolderState[]): Map<string, Accepted> {
    const next = new Map(
      folders.map(({ folder, state, message }) => [
        folder.path,
        { head: JSON.stringify([folder.clients, state, message]), items: new Map<string, string>() },
      ]),
    );
    for (const [, fact] of records.facts.entries()) {
      const text = texts.get(fact) ?? JSON.stringify(reported(fact));
      texts.set(fact, text);
      next.get(fact.folder)?.items.set(fact.item, text);
    }
    return next;
  }

  return {
    send(state, signal) {
      running = running.then(
        () => once(state, signal),
        () => once(state, signal),
      );
      return running;
    },
  };
}

/** What to tell about one folder, in as many parts as its items need; nothing when nothing changed. */
function folderChanges(
  { folder, state, message }: FolderState,
  next: ReadonlyMap<string, Accepted>,
  accepted: ReadonlyMap<string, Accepted>,
): ReportedFolder[] {
  const now = next.get(folder.path);
  const before = accepted.get(folder.path);
  if (!now) return [];
  const items = [...now.items].filter(([id, item]) => before?.items.get(id) !== item);
  const gone = before ? [...before.items.keys()].filter((id) => !now.items.has(id)) : [];
  if (before?.head === now.head && items.length + gone.length === 0) return [];
  const { path, kind, clients } = folder;
  const head = { path, kind, clients, state, ...(message === undefined ? {} : { message }) };
  const parts = Math.max(1, Math.ceil(items.length / ITEMS_PER_REPORT));
  return Array.from({ length: parts }, (_, part) => ({
    ...head,
    items: items
      .slice(part * ITEMS_PER_REPORT, (part + 1) * ITEMS_PER_REPORT)
      .map(([, item]) => JSON.parse(item) as ReportedItem),
    gone: part === 0 ? gone : [],
    complete: !before && part === 0,
  }));
}

/** Whole folders into as few reports as hold them. */
function pack(changes: readonly ReportedFolder[]): ReportedFolder[][] {
  const reports: ReportedFolder[][] = [];
  let room = 0;
  for (const change of changes) {
    if (reports.length === 0 || change.items.length > room) {
      reports.push([]);
      room = ITEMS_PER_REPORT;
    }
    reports.at(-1)?.push(change);
    room -= change.items.length;
  }
  return reports;
}

function reported({ folder: _, ...item }: Fact): ReportedItem {
  return item;
}
