import { hash } from 'node:crypto';
import { renameSync } from 'node:fs';
import { attempt, codeOf, type Failure, failure } from './attempt.ts';
import { type At, Escape, inside, type Root } from './containment.ts';
import { look } from './file.ts';
import { arrive, begin, type Operation, type Settled, settle } from './journal.ts';
import { refusePath } from './path.ts';

export interface FileWish {
  /** Slashes, relative to the root: `my-skill/SKILL.md`, or `x.md` for a persona. */
  path: string;
  bytes: Uint8Array;
  executable: boolean;
  /** Digest of what the agent wrote there last and may replace; null when nothing may be there. */
  base: string | null;
}

/** Something of the user's stands there and stays. */
export interface Kept {
  done: 'kept';
  /**
   * `changed_here`: other bytes than the base. `gone`: deleted here. `exists`: taken by something the agent did not write.
   * `not_a_file`, `link`: what stands there, or a folder above it, is no plain file or folder.
   */
  reason: 'changed_here' | 'gone' | 'exists' | 'not_a_file' | 'link';
  copy?: string;
  incoming?: string;
}

/** `copy`: a person's change that raced with ours and now lies beside the file, relative to the root. */
export type Written = { done: 'written'; digest: string; copy?: string } | Kept | Failure;
export type Removed = { done: 'removed' } | Kept | Failure;

/**
 * Writes one file by move aside, link, verify. At every moment, also after a crash and {@link recover}, the path holds the old
 * bytes or the new ones, and nothing that a person writes meanwhile is lost: it stays, or lies beside as a copy.
 * Never throws for what the disk does; a failure leaves the old file.
 */
export async function writeFile(root: Root, wish: FileWish): Promise<Written> {
  const { path, bytes, executable, base } = wish;
  const digest = hash('sha256', bytes, 'hex');
  return guarded(root, path, () =>
    inside(root, path, { create: base === null }, async (at): Promise<Written> => {
      const there = look(at());
      if (there.is === 'file' && there.digest === digest && sameMode(root, there.executable, executable)) {
        return { done: 'written', digest };
      }
      const kept = standing(there, base);
      if (kept) return kept;
      const operation = await begin(root, { op: 'write', path, base }, { bytes, executable });
      const settled = await carryOut(root, operation, async () => {
        if (base !== null) await moveAside(root, operation, at);
        await arrive(root, operation, at);
      });
      if (settled.state === 'done') return { done: 'written', digest, ...copies(settled) };
      if (settled.state === 'undone') return { done: 'kept', reason: 'gone' };
      return { done: 'kept', reason: base === null ? 'exists' : 'changed_here', ...copies(settled) };
    }),
  );
}

/** Moves one file to the trash when its bytes are the base; a file that is gone already counts as removed. */
export async function removeFile(root: Root, path: string, base: string): Promise<Removed> {
  const outcome = await guarded<Removed>(root, path, () =>
    inside(root, path, { create: false }, async (at): Promise<Removed> => {
      const kept = standing(look(at()), base);
      if (kept) return kept;
      const operation = await begin(root, { op: 'remove', path, base });
      const settled = await carryOut(root, operation, () => moveAside(root, operation, at));
      if (settled.state === 'done') return { done: 'removed' };
      return { done: 'kept', reason: 'changed_here', ...copies(settled) };
    }),
  );
  return outcome.done === 'kept' && outcome.reason === 'gone' ? { done: 'removed' } : outcome;
}

function standing(there: ReturnType<typeof look>, base: string | null): Kept | null {
  if (there.is === 'absent') return base === null ? null : { done: 'kept', reason: 'gone' };
  if (there.is !== 'file') return { done: 'kept', reason: there.is === 'link' ? 'link' : 'not_a_file' };
  if (base === null) return { done: 'kept', reason: 'exists' };
  return there.digest === base ? null : { done: 'kept', reason: 'changed_here' };
}

async function moveAside(root: Root, operation: Operation, at: At): Promise<void> {
  await attempt(root, 'aside', () => renameSync(at(), operation.old));
}

/** An editor that comes in between (the file gone, or there again) is no failure: settling sees and handles it. */
async function carryOut(root: Root, operation: Operation, steps: () => Promise<void>): Promise<Settled> {
  try {
    await steps();
  } catch (error) {
    const settled = await settle(root, operation);
    if (settled.state === 'undone' && codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
    return settled;
  }
  return settle(root, operation, true);
}

async function guarded<T>(root: Root, path: string, act: () => Promise<T>): Promise<T | Kept | Failure> {
  try {
    refusePath(path);
    return await act();
  } catch (error) {
    if (!(error instanceof Escape)) return failure(root, path, error);
    if (error.reason === 'gone') return { done: 'kept', reason: 'gone' };
    return { done: 'kept', reason: error.reason === 'not_a_folder' ? 'not_a_file' : 'link' };
  }
}

function copies(settled: Settled): { copy?: string; incoming?: string } {
  return {
    ...(settled.copy === undefined ? {} : { copy: settled.copy }),
    ...(settled.incoming === undefined ? {} : { incoming: settled.incoming }),
  };
}

function sameMode(root: Root, a: boolean, b: boolean): boolean {
  return root.platform === 'win32' || a === b;
}
