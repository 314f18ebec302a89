import { lstatSync, statSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { DeviceEvent } from '../schema/api.ts';
import type { ClientId } from '../schema/clients.ts';
import { type ClientFolder, clientFolders, clientPresence, type Machine } from '../schema/folders.ts';
import { apply, diskDigest, type Outcome } from './apply.ts';
import { openRoot, type Root } from './disk/containment.ts';
import { everyOne } from './disk/file.ts';
import { recover } from './disk/recover.ts';
import { type ScanCache, scanFile, scanFolder } from './disk/scan.ts';
import { type Done, recordFacts } from './facts.ts';
import type { Mirror, MirrorItem } from './mirror.ts';
import { type Action, BRAKE_WINDOW_MS, brake, plan, type Spot, type Standing } from './plan.ts';
import {
  changeCondition,
  type Fact,
  type Placement,
  placementKey,
  type Records,
  readCondition,
  readSettings,
  removalKey,
  type Settings,
  type StateFiles,
} from './state.ts';
import { findStrays } from './strays.ts';
import { isGone, type Scope, type Survey, surveyItems, type UnseenSpot } from './survey.ts';

export interface FolderState {
  folder: ClientFolder;
  state: 'written' | 'failed';
  message?: string;
}

export interface PassResult {
  /** Folders that exist or are to be written, as they are now. */
  folders: FolderState[];
  /** What was done to the disk or newly found there. */
  events: DeviceEvent[];
  /** Items whose removal waits for the person. */
  waiting: number;
  /** Items that could not be written, wherever; also those that events told of before. */
  failed: number;
}

export interface PassDeps {
  files: StateFiles;
  records: Records;
  mirror: Mirror;
  machine: Machine;
  /** Whether this system's files have an executable bit. */
  executableBit: boolean;
  now: () => number;
  /** For tests that stop or disturb the writer. */
  step?: Root['step'];
}

export interface Folders {
  /**
   * Plans and applies once, up to the items that are being written when `halted` becomes true. Never called while another
   * pass runs.
   */
  pass(scope: Scope, halted?: () => boolean): Promise<PassResult>;
  /** The roots opened by the last pass, retired ones included. */
  roots(): Root[];
}

/** An item's files in all folders are changed together; so many items at a time. */
const PARALLEL_ITEMS = 8;

/** The device's client folders, kept as the mirror wants them. */
export function createFolders(deps: PassDeps): Folders {
  const { files, records, mirror, machine, executableBit, now } = deps;
  const cache: ScanCache = new Map();
  const opened = new Map<string, Root>();
  const missing = new Set<string>();
  /** When each item went that nobody confirmed, for the brake. */
  const removed = new Map<string, number>();
  const states = new Map<string, FolderState>();
  let strays = new Map<string, string>();
  let seen = '';

  async function pass(asked: Scope, halted = () => false): Promise<PassResult> {
    const settings = readSettings(files);
    const folders = presentFolders(machine, settings);
    // What a person decided, or a client that came, concerns items that have not changed.
    const view = JSON.stringify([settings, folders]);
    const failed = [...states.values()].some(({ state }) => state === 'failed');
    const scope = view === seen && !failed ? asked : 'all';
    if (scope === 'all') strays = findStrays({ ...machine, present: presentClients(machine, settings) });
    const survey = surveyItems({ folders, settings, scope, mirror, ledger: records.ledger });
    await openRoots(folders, survey, scope);
    const spots = survey.spots.flatMap((spot) => look(spot, asked === 'all'));
    const waiting = applyBrake(settings);
    const actions = plan(spots).map((action) => braked(action, waiting));
    const events = recordFacts({
      records,
      done: await applyAll(actions, halted),
      held: survey.held,
      isStale: (fact) => !halted() && isStale(fact, folders, scope),
      now: now(),
    });
    seen = view;
    const failures = new Set<string>();
    for (const [, { item, state }] of records.facts.entries()) if (state === 'failed') failures.add(item);
    return {
      folders: [...states.values()],
      events,
      waiting: waiting.size,
      failed: failures.size,
    };
  }

  /** Opens the folders that the pass is about, makes those that get something, and ends what a crash left half done. */
  async function openRoots(folders: ClientFolder[], { spots, held }: Survey, scope: Scope): Promise<void> {
    opened.clear();
    missing.clear();
    const known = new Map(folders.map((folder) => [folder.path, folder]));
    for (const path of states.keys()) if (!known.has(path)) states.delete(path);
    const writing = new Set(spots.filter(({ want }) => want !== null).map((spot) => spot.folder));
    const holding = new Set(held.map((wish) => wish.folder));
    const all = scope === 'all' ? known.keys() : [];
    for (const path of new Set([...spots.map((spot) => spot.folder), ...all])) {
      const folder = known.get(path);
      const create = folder !== undefined && writing.has(path);
      if (!create && statSync(path, { throwIfNoEntry: false }) === undefined) {
        missing.add(path);
        if (folder && holding.has(path)) states.set(path, { folder, state: 'written' });
        else if (scope === 'all') states.delete(path);
        continue;
      }
      try {
        const { platform } = machine;
        const root = openRoot(path, { create, platform, now, ...(deps.step ? { step: deps.step } : {}) });
        await recover(root);
        opened.set(path, root);
        if (folder) states.set(path, { folder, state: 'written' });
      } catch (error) {
        if (folder) states.set(path, { folder, state: 'failed', message: folderMessage(path, error) });
      }
    }
  }

  /** Adds what stands there. A folder that is missing holds nothing; one that cannot be opened is passed over. */
  function look(spot: UnseenSpot, full: boolean): Spot[] {
    const root = opened.get(spot.folder);
    if (root) return [{ ...spot, standing: standingAt(root, spot, full) }];
    return missing.has(spot.folder) ? [{ ...spot, standing: { is: 'absent' } }] : [];
  }

  function standingAt(root: Root, { at, want, placed }: UnseenSpot, full: boolean): Standing {
    if ((want ?? placed)?.kind === 'persona') {
      const found = scanFile(root, at, { cache, full });
      if (found === null) return { is: 'absent' };
      if ('what' in found) return { is: 'taken', what: TAKEN[found.what] };
      return { is: 'there', files: new Map([[at, found]]), odd: [] };
    }
    const found = scanFolder(root, at, { cache, full });
    if (found.is === 'absent') return { is: 'absent' };
    if (found.is !== 'folder') return { is: 'taken', what: TAKEN[found.is] };
    return {
      is: 'there',
      files: new Map(found.files.map((file) => [`${at}/${file.path}`, file])),
      odd: found.odd.map(({ path }) => (path === '' ? at : `${at}/${path}`)),
    };
  }

  /** Items whose removal waits. One whose name another item has taken over is replaced, not removed. */
  function applyBrake(settings: Settings): Set<string> {
    const placed = new Set<string>();
    const gone = new Map<string, MirrorItem>();
    for (const [, { item: id }] of records.ledger.entries()) {
      placed.add(id);
      const item = mirror.item(id);
      if (item && isGone(item)) gone.set(id, item);
    }
    if (gone.size > 0) {
      const name = (item: MirrorItem) => `${item.kind}\0${item.name}`;
      const taken = new Set<string>();
      for (const item of mirror.items()) if (!isGone(item)) taken.add(name(item));
      for (const [id, item] of gone) if (taken.has(name(item))) gone.delete(id);
    }
    const removals = new Map([...gone].map(([id, item]) => [id, removalKey(id, item.updated_at)]));
    const before = readCondition(files).brake;
    const confirmed = new Set(settings.confirmed);
    for (const [id, at] of removed) if (now() - at > BRAKE_WINDOW_MS || placed.has(id)) removed.delete(id);
    const waiting = brake({
      removals,
      placed: placed.size,
      recent: removed.size,
      waited: new Set(before?.items.map(({ key }) => key)),
      confirmed,
    });
    for (const [id, key] of removals) if (!waiting.has(id) && !confirmed.has(key)) removed.set(id, now());
    const items = [...waiting].flatMap((id) => {
      const item = gone.get(id);
      return item ? [{ key: removalKey(id, item.updated_at), kind: item.kind, name: item.name }] : [];
    });
    const message = `${items.length} items would be removed from this device, too many to go unasked. Run "repertoire confirm" to let them go, or restore them.`;
    changeCondition(files, { brake: items.length > 0 ? { at: before?.at ?? now(), message, items } : null });
    return waiting;
  }

  /**
   * Every folder of one item in one go, several items at a time; one that fails does not stop the others. Folders that are
   * one through a person's link take turns.
   */
  async function applyAll(actions: Action[], halted: () => boolean): Promise<Done[]> {
    const done: Done[] = [];
    const groups = Map.groupBy(actions, ({ item }) => item).values();
    const inTurn = async (turns: Action[]) => {
      for (const action of turns) done.push(await applyOne(action));
    };
    const work = async () => {
      for (const group of groups) {
        // Lets the socket and other commands be heard between two items.
        await turn();
        if (halted()) return;
        const places = Map.groupBy(group, ({ folder }) => opened.get(folder)?.real ?? folder);
        await everyOne(Array.from(places.values(), inTurn));
      }
    };
    // Also after one has thrown, no write may be under way when the pass ends.
    await everyOne(Array.from({ length: PARALLEL_ITEMS }, work));
    return done;
  }

  async function applyOne(action: Action): Promise<Done> {
    const key = placementKey(action.folder, action.at);
    const root = opened.get(action.folder);
    const announce = (placement: Placement) => records.ledger.write([[key, placement]]);
    const outcome: Outcome = root
      ? await apply(action, { root, content: mirror.content, announce })
      : { state: null, touched: false, placement: null };
    const before = records.ledger.get(key) ?? null;
    if (before !== outcome.placement) records.ledger.write([[key, outcome.placement]]);
    if (root && action.decision.do === 'place' && outcome.state === 'held_back') {
      // Two client folders may be one through a person's link: what appeared there just now is what is wanted.
      const [again] = plan([{ ...action.spot, standing: standingAt(root, action.spot, true) }]);
      if (again?.decision.do === 'adopt') return applyOne(again);
    }
    const stray = action.spot.want?.kind === 'skill' ? strays.get(action.at) : undefined;
    const told =
      outcome.message === undefined && outcome.state !== null ? { ...outcome, message: stray } : outcome;
    return { action, outcome: told, digest: digestNow(action, outcome, root) };
  }

  /** What is on disk now, read back where the agent wrote. */
  function digestNow({ at, spot }: Action, outcome: Outcome, root: Root | undefined): string | null {
    if (outcome.state === null || !root) return null;
    const standing = outcome.touched ? standingAt(root, spot, false) : spot.standing;
    const own = new Set([
      ...(spot.want?.files.map(({ path }) => path) ?? []),
      ...Object.keys(outcome.placement?.files ?? {}),
    ]);
    return diskDigest(standing, at, executableBit, outcome.state === 'held_back' ? undefined : own);
  }

  /** Nothing was looked at in a folder that did not open, so that what was known of it stays. */
  function isStale({ folder, item }: Fact, folders: readonly ClientFolder[], scope: Scope): boolean {
    if (!folders.some(({ path }) => path === folder)) return true;
    return states.get(folder)?.state !== 'failed' && (scope === 'all' || scope.has(item));
  }

  return { pass, roots: () => [...opened.values()] };
}

/** Folders of the clients that are on the device, by their configuration folder, or that the person named. */
export function presentFolders(machine: Machine, settings: Pick<Settings, 'connected'>): ClientFolder[] {
  return clientFolders({ ...machine, present: presentClients(machine, settings) });
}

function presentClients(machine: Machine, { connected }: Pick<Settings, 'connected'>): Set<ClientId> {
  const found = clientPresence(machine).filter(
    ({ client, path }) =>
      connected.includes(client) || statSync(path, { throwIfNoEntry: false })?.isDirectory(),
  );
  return new Set(found.map(({ client }) => client));
}

function braked(action: Action, waiting: ReadonlySet<string>): Action {
  if (action.decision.do !== 'remove' || !waiting.has(action.item)) return action;
  const reason = 'The removal waits, with many others, for "repertoire confirm".';
  return { ...action, decision: { do: 'hold', state: 'held_back', reason } };
}

/** Why a client folder cannot be written, in one sentence; null where it can, or is not there yet. */
export function folderProblem(path: string): string | null {
  try {
    if (lstatSync(path, { throwIfNoEntry: false })) openRoot(path);
    return null;
  } catch (error) {
    return folderMessage(path, error);
  }
}

function folderMessage(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined
    ? message
    : `${path} cannot be written (${code}). Make it a folder that you may write to; the next pass tries again.`;
}

const TAKEN = {
  link: 'a link',
  file: 'a file',
  folder: 'a folder',
  special: 'a special file',
  unreadable: 'it cannot be read',
  too_large: 'a file over 1 MiB',
  too_many: 'too many files',
  too_deep: 'folders too deep',
} as const;
