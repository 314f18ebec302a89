import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { attempt, codeOf } from './attempt.ts';
import { type At, Escape, inside, type Root } from './containment.ts';
import { everyOne, look, moveExclusive, newFile, placeExclusive, repairHalfCopy } from './file.ts';

/** What is about to happen to a path (slashes, relative to the root). Synced to the disk before it begins. */
export interface Intent {
  op: 'write' | 'remove';
  path: string;
  /** Digest of what the agent may replace or remove; null when nothing may be there. */
  base: string | null;
}

/** One intent and its folder in the store: `new` is what comes, `old` what was moved aside. */
export interface Operation extends Intent {
  id: string;
  home: string;
  new: string;
  old: string;
}

/** How an operation ended. Copies are paths relative to the root, or full paths where the folder itself is gone. */
export interface Settled {
  path: string;
  op: Intent['op'];
  /** `done`: as intended. `undone`: as before. `kept`: a person's change stands there instead. */
  state: 'done' | 'undone' | 'kept';
  /** A person's change that raced with the agent's, kept beside the file. */
  copy?: string;
  /** The agent's version that found its place taken, kept beside the file. */
  incoming?: string;
}

/** Writes an intent, and the bytes of the file that comes, into a new folder of the store. Both are synced, at the same time. */
export async function begin(root: Root, intent: Intent, content?: Content): Promise<Operation> {
  const operation = describe(root, 'staging', newId(root), intent);
  root.step('stage');
  makeStore(root);
  mkdirSync(operation.home);
  const note = join(operation.home, 'intent.json');
  try {
    const written = [newFile(root, note, JSON.stringify(intent), false)];
    if (content) written.push(newFile(root, operation.new, content.bytes, content.executable));
    await everyOne(written);
  } catch (error) {
    discard(operation);
    throw error;
  }
  return operation;
}

export interface Content {
  bytes: Uint8Array;
  executable: boolean;
}

/**
 * Brings an operation to its end from whatever stands on the disk: after the steps of the writer, after one of them failed,
 * or after a crash, also one in here. Where the target is absent, the old file returns; a file that is moved aside and is
 * not the base is a person's change, and never leaves the person's folder. `arrived` says that the caller has just seen the
 * new file reach its target: should it be gone again, then a person deleted it.
 */
export async function settle(root: Root, operation: Operation, arrived = false): Promise<Settled> {
  try {
    return await inside(root, operation.path, { create: false }, (at) =>
      operation.op === 'write'
        ? settleWrite(root, operation, at, arrived)
        : settleRemoval(root, operation, at),
    );
  } catch (error) {
    if (!(error instanceof Escape)) throw error;
    return strand(root, operation);
  }
}

async function settleWrite(root: Root, operation: Operation, at: At, arrived: boolean): Promise<Settled> {
  const { op, path, base } = operation;
  repairHalfCopy(operation.home, at(), [operation.new, operation.old]);
  const fresh = look(operation.new);
  const target = look(at());
  const done = arrived || (target.is === 'file' && fresh.is === 'file' && target.digest === fresh.digest);
  if (look(operation.old).is === 'absent') {
    const taken = base === null && !done && target.is !== 'absent';
    const incoming = taken ? await beside(root, operation, operation.new, 'incoming') : undefined;
    root.step('clean');
    discard(operation);
    if (incoming !== undefined) return { op, path, state: 'kept', incoming };
    return { op, path, state: done ? 'done' : 'undone' };
  }
  if (target.is === 'absent' && !done) {
    try {
      await attempt(root, 'put-back', () => moveExclusive(root, operation.old, at(), operation.home));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return settleWrite(root, operation, at, arrived);
    }
    root.step('clean');
    discard(operation);
    return { op, path, state: 'undone' };
  }
  if (done || fresh.is === 'absent') return retire(root, operation, { op, path, state: 'done' });
  const incoming = await beside(root, operation, operation.new, 'incoming');
  return retire(root, operation, { op, path, state: 'kept', incoming });
}

async function settleRemoval(root: Root, operation: Operation, at: At): Promise<Settled> {
  const { op, path, base } = operation;
  repairHalfCopy(operation.home, at(), [operation.new, operation.old]);
  const old = look(operation.old);
  if (old.is === 'absent') {
    discard(operation);
    return { op, path, state: look(at()).is === 'absent' ? 'done' : 'undone' };
  }
  if (old.is === 'file' && old.digest === base) return retire(root, operation, { op, path, state: 'done' });
  try {
    await attempt(root, 'put-back', () => moveExclusive(root, operation.old, at(), operation.home));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return retire(root, operation, { op, path, state: 'kept' });
  }
  discard(operation);
  return { op, path, state: 'kept' };
}

/** Moves the old file to the trash when it is the base, else beside the target. */
async function retire(root: Root, operation: Operation, settled: Settled): Promise<Settled> {
  const old = look(operation.old);
  if (old.is === 'file' && old.digest === operation.base) {
    toTrash(root, operation);
    return settled;
  }
  const copy = await beside(root, operation, operation.old, 'conflict');
  root.step('clean');
  discard(operation);
  return { ...settled, copy };
}

/** The folder of the target is gone or leads elsewhere: what is not the base is kept in the store, for good. */
function strand(root: Root, operation: Operation): Settled {
  const { op, path, base } = operation;
  const old = look(operation.old);
  if (old.is === 'absent') {
    discard(operation);
    return { op, path, state: 'undone' };
  }
  if (old.is === 'file' && old.digest === base) {
    toTrash(root, operation);
    return { op, path, state: 'undone' };
  }
  return { op, path, state: 'kept', copy: keep(root, operation) };
}

function toTrash(root: Root, operation: Operation): void {
  root.step('unstage');
  rmSync(operation.new, { force: true });
  root.step('retire');
  renameSync(operation.home, join(root.store, 'trash', operation.id));
}

/** Moves an operation's folder to where it is never aged out; gives the full path of the person's file in it. */
export function keep(root: Root, operation: Operation): string {
  const kept = join(root.store, 'kept', operation.id);
  renameSync(operation.home, kept);
  return join(kept, 'old');
}

/** Moves a file or folder to a free name beside the operation's target; gives its path relative to the root. */
export async function beside(
  root: Root,
  operation: Operation,
  from: string,
  label: 'conflict' | 'incoming',
): Promise<string> {
  const there = look(from);
  const tag = there.is === 'file' ? there.digest.slice(0, 8) : operation.id.slice(-8);
  return inside(root, operation.path, { create: false }, async (at) => {
    for (let n = 1; ; n++) {
      const copy = `${operation.path}.${label}-${tag}${n > 1 ? `-${n}` : ''}`;
      const place = at(copy);
      const taken = look(place);
      if (taken.is === 'file' && there.is === 'file' && taken.digest === there.digest) {
        unlinkSync(from);
        return copy;
      }
      if (taken.is !== 'absent') continue;
      try {
        await attempt(root, 'copy', () => moveExclusive(root, from, at(copy), operation.home));
        return copy;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
  });
}

/** Links the new file to its target, where nothing may stand; EEXIST when something does. */
export async function arrive(root: Root, operation: Operation, at: At): Promise<void> {
  await attempt(root, 'link', () => placeExclusive(root, operation.new, at(), operation.home));
}

/** Operations in a folder of the store, oldest first. One without a readable intent has `intent` null. */
export function operations(
  root: Root,
  folder: 'staging' | 'trash',
): { operation: Operation; readable: boolean }[] {
  const home = join(root.store, folder);
  if (!existsSync(home)) return [];
  return readdirSync(home)
    .sort()
    .map((id) => {
      const intent = readIntent(join(home, id, 'intent.json'));
      const operation = describe(root, folder, id, intent ?? { op: 'write', path: '', base: null });
      return { operation, readable: intent !== null };
    });
}

/** When an operation began, in milliseconds since the epoch. */
export function beganAt(operation: Operation): number {
  return Number.parseInt(operation.id, 10);
}

export function discard(operation: Operation): void {
  try {
    // Mostly the note is all that is left, and looking for more costs more than the rest of an operation.
    rmSync(join(operation.home, 'intent.json'), { force: true });
    rmdirSync(operation.home);
  } catch {
    rmSync(operation.home, { recursive: true, force: true });
  }
}

function readIntent(path: string): Intent | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Intent;
  } catch {
    return null;
  }
}

function describe(root: Root, folder: 'staging' | 'trash', id: string, intent: Intent): Operation {
  const home = join(root.store, folder, id);
  return {
    ...intent,
    id,
    home,
    new: join(home, 'new'),
    old: join(home, 'old'),
  };
}

/**
 * Path for a folder that is put together in the store, to appear in the root by one rename. Nothing in it is a person's, so
 * it needs no intent: what a crash leaves of it is thrown away.
 */
export function newStage(root: Root): string {
  root.step('stage');
  makeStore(root);
  return join(root.store, 'coming', newId(root));
}

/** Throws away what a crash left of folders that were being put together. */
export function clearStages(root: Root): void {
  rmSync(join(root.store, 'coming'), { recursive: true, force: true });
}

function newId(root: Root): string {
  return `${root.now().toString().padStart(13, '0')}-${randomBytes(4).toString('hex')}`;
}

function makeStore(root: Root): void {
  for (const folder of ['.', 'staging', 'coming', 'trash', 'kept']) {
    const path = join(root.store, folder);
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (!there) mkdirSync(path, { recursive: true, mode: 0o700 });
    else if (!there.isDirectory()) throw new Escape('link', path);
  }
}
