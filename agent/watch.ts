import { type FSWatcher, watch } from 'node:fs';
import { basename, join, posix, sep } from 'node:path';
import type { Records } from './state.ts';

export interface Watcher {
  /** Watches what the ledger lists now, and nothing else; once closed, nothing at all. */
  refresh(): void;
  close(): void;
}

/** An editor writes a file in several steps; they make one hint. */
const QUIET_MS = 200;

/** Here one watch sees a whole tree; elsewhere each folder needs its own. */
const WHOLE_TREES = process.platform === 'darwin' || process.platform === 'win32';

/**
 * Watches what the agent has placed, and hints at the items that a person may have changed. A hint and no more: a pass looks
 * at the bytes, so that the agent's own writes lead to nothing, and a lost event waits for the next full pass.
 *
 * Folders are watched and never single files, so that a folder with hundreds of personas costs one watch.
 */
export function watchPlaced(
  { ledger }: Pick<Records, 'ledger'>,
  onHint: (items: Set<string>) => void,
): Watcher {
  /** Item by the path of what was placed. */
  const placed = new Map<string, string>();
  const watches = new Map<string, FSWatcher>();
  const hinted = new Set<string>();
  let quiet: NodeJS.Timeout | undefined;
  let closed = false;

  function start(folder: string): void {
    try {
      const started = watch(folder, { recursive: WHOLE_TREES }, (event, name) => {
        if (name !== null) heard(folder, event, name);
      });
      started.on('error', () => stop(folder));
      watches.set(folder, started);
    } catch {
      // Too many watches, or a folder that may not be read: the timer's full pass does without.
    }
  }

  function stop(folder: string): void {
    watches.get(folder)?.close();
    watches.delete(folder);
  }

  function heard(folder: string, event: string, name: string): void {
    // What happens to the watched folder itself is told under the folder's own name.
    const path = event === 'rename' && name === basename(folder) ? folder : join(folder, name);
    // A watch stays with the folder that was moved or removed; what takes its place is watched after the next pass.
    if (event === 'rename') {
      for (const watched of [...watches.keys()]) if (isWithin(path, watched)) stop(watched);
    }
    for (const [at, item] of placed) if (isWithin(at, path) || isWithin(path, at)) hinted.add(item);
    if (hinted.size === 0) return;
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      onHint(new Set(hinted));
      hinted.clear();
    }, QUIET_MS);
  }

  return {
    refresh() {
      // The pass that was under way when the agent was stopped ends after the watching; a watch would keep the process.
      if (closed) return;
      placed.clear();
      const wanted = new Set<string>();
      for (const [, { folder, at, item, files }] of ledger.entries()) {
        placed.set(join(folder, at), item);
        wanted.add(folder);
        if (WHOLE_TREES) continue;
        for (const file of Object.keys(files)) {
          for (let dir = posix.dirname(file); dir !== '.'; dir = posix.dirname(dir))
            wanted.add(join(folder, dir));
        }
      }
      for (const folder of [...watches.keys()]) if (!wanted.has(folder)) stop(folder);
      for (const folder of wanted) if (!watches.has(folder)) start(folder);
    },
    close() {
      closed = true;
      clearTimeout(quiet);
      for (const folder of [...watches.keys()]) stop(folder);
    },
  };
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}${sep}`);
}
