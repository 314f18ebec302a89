import type { Placement } from './state.ts';
import type { Held, Want } from './wanted.ts';

/** What stands under one name of a client folder. */
export type Standing =
  | { is: 'absent' }
  /** A link, a special file or anything else that is neither an item's folder nor a persona's file. */
  | { is: 'taken'; what: string }
  /** `files` by path below the client folder; `odd` are paths that hold no plain file. */
  | { is: 'there'; files: ReadonlyMap<string, OnDisk>; odd: readonly string[] };

export interface OnDisk {
  digest: string;
  executable: boolean;
}

/** One name of one client folder: what should be there, what the agent put there, and what is there. */
export interface Spot {
  folder: string;
  at: string;
  want: Want | null;
  placed: Placement | null;
  standing: Standing;
  /** The registry says by a record of its own, never by silence, that what the agent put here should go. */
  gone: boolean;
  /** The person chose to do without the item here. */
  skip: boolean;
}

interface Write {
  path: string;
  /** Digest of the agent's own bytes that are replaced; null where nothing is. */
  base: string | null;
}

interface Removal {
  path: string;
  /** Digest of the agent's own bytes. */
  digest: string;
}

export type Decision =
  /** Everything is as wanted. `files` is what the ledger should say. */
  | { do: 'nothing' }
  /** Nothing stands there: the item appears whole. */
  | { do: 'place'; want: Want }
  | { do: 'update'; want: Want; writes: Write[]; removals: Removal[] }
  /** What stands there has the wanted bytes: it enters the ledger without a write. */
  | { do: 'adopt'; want: Want }
  | { do: 'remove'; placed: Placement; removals: Removal[] }
  /** What the agent put there is gone already, and should be. */
  | { do: 'forget'; placed: Placement }
  | { do: 'hold'; state: 'held_back' | 'changed_here'; reason: string };

export interface Action {
  folder: string;
  at: string;
  /** Item that the action is about: the wanted one, else the one that was placed. */
  item: string;
  decision: Decision;
  spot: Spot;
}

/** More removals than this, or more than a fifth of all where five or more would go, wait for the person's word. */
const BRAKE = { items: 10, part: 0.2, partFrom: 5 } as const;

/** What to do about each spot. Pure: it changes no disk and asks no registry. */
export function plan(spots: readonly Spot[]): Action[] {
  return spots.flatMap((spot) => {
    const item = spot.want?.item ?? spot.placed?.item;
    const decision = decide(spot);
    if (item === undefined || decision === null) return [];
    return [{ folder: spot.folder, at: spot.at, item, decision, spot }];
  });
}

/**
 * The rules, in order. Only files that the ledger lists, with the bytes that it lists, are ever replaced or removed; an item
 * in a folder is changed as a whole or not at all, so that no mixture of revisions arises.
 */
export function decide(spot: Spot): Decision | null {
  if (spot.want) return spot.placed ? change(spot.want, spot.placed, spot) : appear(spot.want, spot);
  return spot.placed && spot.gone ? vanish(spot.placed, spot.standing) : null;
}

function appear(want: Want, { standing, skip }: Spot): Decision {
  if (standing.is === 'absent') return skip ? hold('held_back', SKIPPED) : { do: 'place', want };
  if (standing.is === 'there') {
    if (want.files.every((file) => standing.files.get(file.path)?.digest === file.digest)) {
      return { do: 'adopt', want };
    }
    if (standing.files.size === 0 && standing.odd.length === 0 && !skip) {
      return {
        do: 'update',
        want,
        writes: want.files.map(({ path }) => ({ path, base: null })),
        removals: [],
      };
    }
  }
  if (skip) return hold('held_back', SKIPPED);
  const what = standing.is === 'taken' ? ` (${standing.what})` : '';
  return hold(
    'held_back',
    `${want.at} exists here and is yours${what}. Run "repertoire resolve ${want.name}" to adopt it, rename one of the two, or skip it.`,
  );
}

const SKIPPED = 'You chose to do without it here.';

function change(want: Want, placed: Placement, { standing }: Spot): Decision {
  if (standing.is === 'absent') return { do: 'place', want };
  if (standing.is === 'taken') return changed(`${want.at} is not as the agent left it (${standing.what})`);
  const writes: Write[] = [];
  const removals: Removal[] = [];
  const wanted = new Set<string>();
  for (const file of want.files) {
    const { path, digest, executable } = file;
    wanted.add(path);
    const found = standing.files.get(path);
    const known = isKnown(placed, path);
    if (!found) {
      if (isOdd(standing, path)) return changed(`${path} is no plain file here, or cannot be read`);
      writes.push({ path, base: null });
    } else if (found.digest === digest) {
      // The mode on disk may be one that its file system made up; only a mode that the registry changed is written.
      if (known && placed.files[path]?.executable !== executable) writes.push({ path, base: digest });
    } else if (isOwn(placed, path, found)) {
      writes.push({ path, base: found.digest });
    } else if (known) {
      return changed(`${path} was edited here`);
    } else {
      return hold(
        'held_back',
        `${path} exists here and is yours, and the new revision has a file of that name. Rename yours; the next pass goes on.`,
      );
    }
  }
  for (const path of ownPaths(placed)) {
    if (wanted.has(path)) continue;
    const found = standing.files.get(path);
    if (!found) continue;
    if (!isOwn(placed, path, found)) return changed(`${path} was edited here`);
    removals.push({ path, digest: found.digest });
  }
  if (writes.length > 0 || removals.length > 0) return { do: 'update', want, writes, removals };
  return isRecorded(want, placed) ? { do: 'nothing' } : { do: 'update', want, writes, removals };
}

function vanish(placed: Placement, standing: Standing): Decision {
  if (standing.is === 'absent') return { do: 'forget', placed };
  if (standing.is === 'taken') return changed(`${placed.at} is not as the agent left it (${standing.what})`);
  const removals: Removal[] = [];
  for (const path of ownPaths(placed)) {
    const found = standing.files.get(path);
    if (!found) continue;
    if (!isOwn(placed, path, found)) return changed(`${path} was edited here`);
    removals.push({ path, digest: found.digest });
  }
  return removals.length > 0 ? { do: 'remove', placed, removals } : { do: 'forget', placed };
}

function changed(what: string): Decision {
  return hold('changed_here', `${what}, so the agent leaves the item alone in this folder.`);
}

function hold(state: 'held_back' | 'changed_here', reason: string): Decision {
  return { do: 'hold', state, reason };
}

function ownPaths(placed: Placement): Set<string> {
  return new Set([...Object.keys(placed.files), ...Object.keys(placed.coming ?? {})]);
}

function isKnown(placed: Placement, path: string): boolean {
  return Object.hasOwn(placed.files, path) || Object.hasOwn(placed.coming ?? {}, path);
}

/** Whether bytes on disk are the agent's: those it wrote, or was writing when it was stopped. */
function isOwn({ files, coming = {} }: Placement, path: string, found: OnDisk): boolean {
  return own(files, path)?.digest === found.digest || own(coming, path)?.digest === found.digest;
}

/** A path may be called like a property that every object has. */
function own<T>(record: Readonly<Record<string, T>>, path: string): T | undefined {
  return Object.hasOwn(record, path) ? record[path] : undefined;
}

function isOdd({ odd }: Standing & { is: 'there' }, path: string): boolean {
  return odd.some((other) => other === path || path.startsWith(`${other}/`) || other.startsWith(`${path}/`));
}

/** Whether the ledger says exactly what is wanted. */
function isRecorded(want: Want, placed: Placement): boolean {
  return (
    placed.coming === undefined &&
    placed.item === want.item &&
    placed.revision === want.revision &&
    placed.name === want.name &&
    Object.keys(placed.files).length === want.files.length &&
    want.files.every(({ path, digest }) => own(placed.files, path)?.digest === digest)
  );
}

export interface BrakeInput {
  /** Items that should go, each with the key of its removal. */
  removals: ReadonlyMap<string, string>;
  /** Items that the agent has placed anywhere. */
  placed: number;
  /** Items that went within the last {@link BRAKE_WINDOW_MS} without having been confirmed. */
  recent: number;
  /** Keys that waited before this pass. */
  waited: ReadonlySet<string>;
  /** Keys that the person let through. */
  confirmed: ReadonlySet<string>;
}

/** Many removals are many whether they come in one page or ring by ring. */
export const BRAKE_WINDOW_MS = 60_000;

/** The items whose removal waits for the person: all that they have not confirmed, when these are too many; else what waited. */
export function brake({ removals, placed, recent, waited, confirmed }: BrakeInput): Set<string> {
  const open = [...removals].filter(([, key]) => !confirmed.has(key));
  const going = open.length + recent;
  const tooMany = going > BRAKE.items || (going >= BRAKE.partFrom && going > BRAKE.part * (placed + recent));
  return new Set(open.filter(([, key]) => tooMany || waited.has(key)).map(([item]) => item));
}

export function isHeld(wish: Want | Held): wish is Held {
  return 'held' in wish;
}
