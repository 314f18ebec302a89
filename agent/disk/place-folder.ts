import { mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MAIN_FILE } from '../../schema/item.ts';
import { attempt, codeOf, type Failure, failure } from './attempt.ts';
import { Escape, inside, type Root } from './containment.ts';
import { everyOne, look, newFile, TAKEN } from './file.ts';
import { newStage } from './journal.ts';
import { refuseFolder } from './path.ts';
import { type Kept, removeFile } from './write-file.ts';

export interface FolderWish {
  /** The item's name: one segment below the root. */
  name: string;
  files: readonly { path: string; bytes: Uint8Array; executable: boolean }[];
}

export type Placed = { done: 'written' } | Kept | Failure;

/** macOS opens 256 files at a time by default. */
const OPEN_FILES = 32;

/**
 * Puts a new folder into the root, complete, by one rename of a staged and synced one. Refuses (`exists`) when anything has
 * that name there. Never throws for what the disk does; after a failure there is no folder.
 */
export async function placeFolder(root: Root, wish: FolderWish): Promise<Placed> {
  try {
    refuseFolder(wish.name, wish.files);
    return await inside(root, wish.name, { create: false }, async (at): Promise<Placed> => {
      if (look(at()).is !== 'absent') return { done: 'kept', reason: 'exists' };
      const staged = newStage(root);
      try {
        await stage(root, staged, wish);
        await attempt(root, 'appear', () => renameSync(staged, at()));
      } catch (error) {
        rmSync(staged, { recursive: true, force: true });
        throw error;
      }
      return { done: 'written' };
    });
  } catch (error) {
    if (error instanceof Escape) return { done: 'kept', reason: 'link' };
    if (TAKEN.has(codeOf(error))) return { done: 'kept', reason: 'exists' };
    return failure(root, wish.name, error);
  }
}

async function stage(root: Root, staged: string, { files }: FolderWish): Promise<void> {
  const made = new Set([staged]);
  mkdirSync(staged);
  for (let start = 0; start < files.length; start += OPEN_FILES) {
    const some = files.slice(start, start + OPEN_FILES);
    for (const { path } of some) {
      const folder = dirname(join(staged, path));
      if (!made.has(folder)) mkdirSync(folder, { recursive: true });
      made.add(folder);
    }
    await everyOne(
      some.map(({ path, bytes, executable }) => newFile(root, join(staged, path), bytes, executable)),
    );
  }
}

export interface FolderRemoved {
  /** Paths (relative to the folder) that are no longer there. */
  removed: string[];
  /** Paths that stay, and why. */
  kept: ({ path: string } & (Kept | Failure))[];
}

/**
 * Removes from a folder the given files whose bytes are as given, main file first, so that clients stop listing the item at
 * once; then every folder that this leaves empty. All else stays.
 */
export async function removeFolder(
  root: Root,
  name: string,
  files: readonly { path: string; digest: string }[],
): Promise<FolderRemoved> {
  const result: FolderRemoved = { removed: [], kept: [] };
  const mainFirst = [...files].sort((a, b) => Number(isMain(b.path)) - Number(isMain(a.path)));
  for (const { path, digest } of mainFirst) {
    const outcome = await removeFile(root, `${name}/${path}`, digest);
    if (outcome.done === 'removed') result.removed.push(path);
    else result.kept.push({ path, ...outcome });
  }
  for (const folder of foldersOf(name, result.removed)) await removeEmpty(root, folder);
  return result;
}

function isMain(path: string): boolean {
  return path === MAIN_FILE.skill || path === MAIN_FILE.persona;
}

/** The folder and those below it that held one of the paths, deepest first. */
function foldersOf(name: string, paths: readonly string[]): string[] {
  const folders = new Set([name]);
  for (const path of paths) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
      folders.add(`${name}/${folder}`);
  }
  return [...folders].sort((a, b) => b.split('/').length - a.split('/').length);
}

async function removeEmpty(root: Root, folder: string): Promise<void> {
  try {
    await inside(root, folder, { create: false }, (at) =>
      attempt(root, 'empty-folder', () => rmdirSync(at())),
    );
  } catch {
    // Not empty, gone, or not ours to remove: in each case it stays as it is.
  }
}
