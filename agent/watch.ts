import { join, sep } from 'node:path';
import { watch } from 'chokidar';
import type { Records } from './state.ts';

export interface Watcher {
  /** Watches what the ledger lists now, and nothing else. */
  refresh(): void;
  close(): Promise<void>;
}

/** An editor writes a file in several steps; they make one hint. */
const QUIET_MS = 200;

/**
 * Watches what the agent has placed, and hints at the items that a person may have changed. A hint and no more: a pass looks
 * at the bytes, so that the agent's own writes lead to nothing, and a lost event waits for the next full pass.
 */
export function watchPlaced({ ledger }: Records, onHint: (items: Set<string>) => void): Watcher {
  const watched = new Map<string, string>();
  const added = new Set<string>();
  const hinted = new Set<string>();
  let quiet: NodeJS.Timeout | undefined;
  const watcher = watch([], { ignoreInitial: true, followSymlinks: false });
  watcher.on('all', (event, path) => {
    // The watch ends with what was watched; what takes its place is watched anew.
    if (event === 'unlink' || event === 'unlinkDir') added.delete(path);
    const item = itemAt(path);
    if (item === undefined) return;
    hinted.add(item);
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      onHint(new Set(hinted));
      hinted.clear();
    }, QUIET_MS);
  });
  // Too many watches, or a folder that may not be read: the timer's full pass does without.
  watcher.on('error', () => {});

  function itemAt(path: string): string | undefined {
    for (let end = path.length; end > 0; end = path.lastIndexOf(sep, end - 1)) {
      const item = watched.get(path.slice(0, end));
      if (item !== undefined) return item;
    }
    return undefined;
  }

  return {
    refresh() {
      const now = new Map(
        Array.from(ledger.entries(), ([, { folder, at, item }]) => [join(folder, at), item]),
      );
      const gone = [...added].filter((path) => !now.has(path));
      const fresh = [...now.keys()].filter((path) => !added.has(path));
      watched.clear();
      for (const [path, item] of now) watched.set(path, item);
      for (const path of gone) added.delete(path);
      for (const path of fresh) added.add(path);
      if (gone.length > 0) watcher.unwatch(gone);
      if (fresh.length > 0) watcher.add(fresh);
    },
    async close() {
      clearTimeout(quiet);
      await watcher.close();
    },
  };
}
