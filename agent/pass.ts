import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { DeviceEvent } from '../schema/api.ts';
import type { ClientId } from '../schema/clients.ts';
import { type ClientFolder, clientFolders, clientPresence, type Machine } from '../schema/folders.ts';
import { apply, diskDigest, type Outcome } from './apply.ts';
import { openRoot, type Root } from './disk/containment.ts';
import { recover } from './disk/recover.ts';
import { type ScanCache, scanFile, scanFolder } from './disk/scan.ts';
import type { Mirror, MirrorItem } from './mirror.ts';
import { type Action, brake, isHeld, plan, type Spot, type Standing } from './plan.ts';
import {
  changeCondition,
  type Fact,
  factKey,
  type Placement,
  placementKey,
  type Records,
  readSettings,
  removalKey,
  type Settings,
  type StateFiles,
} from './state.ts';
import { type Held, type Want, wantedIn } from './wanted.ts';

/** Items to look at, by id; `all` also looks at every file again. */
export type Scope = 'all' | ReadonlySet<string>;

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
  /** Plans and applies once. Never called while another pass runs. */
  pass(scope: Scope): Promise<PassResult>;
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
  const states = new Map<string, FolderState>();
  let seen = '';

  async function pass(asked: Scope): Promise<PassResult> {
    const settings = readSettings(files);
    const folders = presentFolders(machine, settings);
    // What a person decided, or a client that came, concerns items that have not changed.
    const view = JSON.stringify([settings, folders]);
    const failed = [...states.values()].some(({ state }) => state === 'failed');
    const scope = view === seen && !failed ? asked : 'all';
    const survey = surveyItems(folders, settings, scope);
    await openRoots(folders, survey, scope);
    const spots = survey.spots.flatMap((spot) => look(spot, asked === 'all'));
    const waiting = applyBrake(settings);
    const actions = plan(spots).map((action) => braked(action, waiting));
    const outcomes = await applyAll(actions);
    const events = record(folders, survey, outcomes, scope);
    seen = view;
    return { folders: [...states.values()], events, waiting: waiting.size };
  }

  /** What each folder should hold of the items in scope, beside what the ledger says is there. */
  function surveyItems(folders: ClientFolder[], settings: Settings, scope: Scope): Survey {
    const items = scope === 'all' ? [...mirror.items()] : [...scope].flatMap((id) => mirror.item(id) ?? []);
    const agreed = new Set(settings.agreed.map(({ item, client }) => `${item}\0${client}`));
    const skipped = new Set(settings.skipped.map(({ item, folder }) => factKey(folder, item)));
    const source = {
      content: mirror.content,
      has: mirror.has,
      agreed: (item: string, client: string) => agreed.has(`${item}\0${client}`),
    };
    const spots = new Map<string, UnseenSpot>();
    const held: Survey['held'] = [];
    for (const folder of folders) {
      for (const item of items) {
        const wish = wantedIn(folder, item, source);
        if (wish === null) continue;
        const key = isHeld(wish) ? null : placementKey(folder.path, wish.at);
        if (isHeld(wish)) held.push({ folder: folder.path, wish });
        else if (key !== null && spots.has(key)) held.push({ folder: folder.path, wish: twin(wish) });
        else if (key !== null) {
          const skip = skipped.has(factKey(folder.path, item.id));
          spots.set(key, { folder: folder.path, at: wish.at, want: wish, placed: null, gone: false, skip });
        }
      }
    }
    const wantedAt = new Map(
      [...spots.values()].map(({ folder, at, want }) => [factKey(folder, want?.item ?? ''), at]),
    );
    for (const [key, placed] of records.ledger.entries()) {
      const spot = spots.get(key);
      if (spot) spot.placed = placed;
      else if (scope === 'all' || scope.has(placed.item)) {
        const { folder, at } = placed;
        const elsewhere = wantedAt.get(factKey(folder, placed.item));
        const gone = isGone(mirror.item(placed.item)) || (elsewhere !== undefined && elsewhere !== at);
        spots.set(key, { folder, at, want: null, placed, gone, skip: false });
      }
    }
    return { items, spots: [...spots.values()], held };
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

  function applyBrake(settings: Settings): Set<string> {
    const active = new Set<string>();
    for (const item of mirror.items()) if (item.state === 'active') active.add(`${item.kind}\0${item.name}`);
    const placed = new Set<string>();
    const removals = new Map<string, string>();
    for (const [, { item: id, kind, name }] of records.ledger.entries()) {
      placed.add(id);
      const item = mirror.item(id);
      if (item && isGone(item) && !active.has(`${kind}\0${name}`)) {
        removals.set(id, removalKey(id, item.updated_at));
      }
    }
    const waiting = brake({ removals, placed: placed.size, confirmed: new Set(settings.confirmed) });
    const items = [...waiting].flatMap((id) => {
      const item = mirror.item(id);
      return item ? [{ key: removalKey(id, item.updated_at), kind: item.kind, name: item.name }] : [];
    });
    const message = `${items.length} items would be removed from this device at once. Run "repertoire confirm" to let them go, or restore them.`;
    changeCondition(files, { brake: items.length > 0 ? { at: now(), message, items } : null });
    return waiting;
  }

  /** Every folder of one item in one go, several items at a time; one that fails does not stop the others. */
  async function applyAll(actions: Action[]): Promise<Done[]> {
    const done: Done[] = [];
    const groups = Map.groupBy(actions, ({ item }) => item).values();
    const work = async () => {
      for (const group of groups) done.push(...(await Promise.all(group.map(applyOne))));
    };
    await Promise.all(Array.from({ length: PARALLEL_ITEMS }, work));
    return done;
  }

  async function applyOne(action: Action): Promise<Done> {
    const key = placementKey(action.folder, action.at);
    const root = opened.get(action.folder);
    const announce = (placement: Placement) => records.ledger.write([[key, placement]]);
    const context = { content: mirror.content, announce };
    const outcome = root
      ? await apply(action, { ...context, root })
      : { state: null, touched: false, placement: null };
    const before = records.ledger.get(key) ?? null;
    if (before !== outcome.placement) records.ledger.write([[key, outcome.placement]]);
    return { action, outcome, digest: digestNow(action, outcome, root) };
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

  /** Keeps the facts, and makes an event of each one that is new. */
  function record(folders: ClientFolder[], survey: Survey, done: Done[], scope: Scope): DeviceEvent[] {
    const facts = new Map<string, Fact>();
    // Equal bytes in two folders are one event of the device.
    const events = new Map<string, DeviceEvent>();
    const set = (fact: Fact) => {
      const key = factKey(fact.folder, fact.item);
      const other = facts.get(key);
      facts.set(key, other ? { ...other, message: other.message ?? fact.message } : fact);
    };
    const event = (
      fact: Omit<Fact, 'state' | 'digest'>,
      action: DeviceEvent['action'],
      replaced: number | null,
    ) => {
      const { item, kind, name, revision, message } = fact;
      const said = message === undefined ? {} : { message };
      const made = { item, kind, name, action, revision, replaced, at: now(), ...said };
      events.set(JSON.stringify({ ...made, at: null }), { id: randomUUID(), ...made });
    };
    // The wanted place of a renamed item counts before the one that it leaves.
    for (const { action, outcome, digest } of done.toSorted(wantedFirst)) {
      const { want, placed } = action.spot;
      const source = want ?? placed;
      if (!source) continue;
      const { item, kind, name } = source;
      const revision = outcome.placement?.revision ?? null;
      const replaced = placed && placed.revision !== revision ? placed.revision : null;
      const said = outcome.message === undefined ? {} : { message: outcome.message };
      const base = { item, kind, name, revision, folder: action.folder, ...said };
      if (outcome.touched) event(base, outcome.state === null ? 'removed' : 'wrote', replaced);
      if (outcome.state === null) continue;
      const fact: Fact = { ...base, state: outcome.state, digest };
      if (!outcome.touched && isNews(fact, records.facts.get(factKey(fact.folder, item)))) {
        if (fact.state !== 'written') event(base, fact.state, replaced);
      }
      set(fact);
    }
    for (const { folder, wish } of survey.held) {
      const { item, kind, name, held: state, reason: message } = wish;
      const revision = revisionThere(folder, item);
      const fact: Fact = { folder, item, kind, name, state, revision, digest: null, message };
      if (isNews(fact, records.facts.get(factKey(folder, item)))) event(fact, state, null);
      set(fact);
    }
    const known = new Set(folders.map(({ path }) => path));
    const stale = [...records.facts.entries()].filter(([key, fact]) => {
      if (facts.has(key)) return false;
      if (!known.has(fact.folder)) return true;
      // Nothing was looked at in a folder that did not open.
      if (states.get(fact.folder)?.state === 'failed') return false;
      return scope === 'all' || scope.has(fact.item);
    });
    records.facts.write([
      ...stale.map(([key]) => [key, null] as const),
      ...[...facts].filter(([key, fact]) => JSON.stringify(fact) !== JSON.stringify(records.facts.get(key))),
    ]);
    const all = [...events.values()];
    records.events.write(all.map((made) => [made.id, made]));
    return all;
  }

  function revisionThere(folder: string, item: string): number | null {
    for (const [, placed] of records.ledger.entries()) {
      if (placed.folder === folder && placed.item === item) return placed.revision;
    }
    return null;
  }

  return { pass, roots: () => [...opened.values()] };
}

type UnseenSpot = Omit<Spot, 'standing'>;

interface Survey {
  items: MirrorItem[];
  spots: UnseenSpot[];
  held: { folder: string; wish: Held }[];
}

interface Done {
  action: Action;
  outcome: Outcome;
  digest: string | null;
}

/** Folders of the clients that are on the device, by their configuration folder, or that the person named. */
export function presentFolders(machine: Machine, settings: Pick<Settings, 'connected'>): ClientFolder[] {
  const present = new Set<ClientId>();
  for (const { client, path } of clientPresence(machine)) {
    const there = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (there || settings.connected.includes(client)) present.add(client);
  }
  return clientFolders({ ...machine, present });
}

function isGone(item: MirrorItem | undefined): boolean {
  return item !== undefined && item.refused === undefined && item.state !== 'active';
}

function twin({ item, kind, name }: Want): Held {
  const reason = `The registry names two items ${name}; the other one is written.`;
  return { item, kind, name, held: 'failed', reason };
}

function braked(action: Action, waiting: ReadonlySet<string>): Action {
  if (action.decision.do !== 'remove' || !waiting.has(action.item)) return action;
  const reason = 'Its removal waits, with many others, for "repertoire confirm".';
  return { ...action, decision: { do: 'hold', state: 'held_back', reason } };
}

function wantedFirst(a: Done, b: Done): number {
  return Number(a.action.spot.want === null) - Number(b.action.spot.want === null);
}

function isNews(fact: Fact, before: Fact | undefined): boolean {
  return before?.state !== fact.state || before.message !== fact.message || before.revision !== fact.revision;
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
