import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface Watcher {
  close(): void;
}

/** An editor writes a file in several steps; they make one hint. */
const QUIET_MS = 100;

/**
 * Hints that files in these directories may have changed; the directories themselves may come and go. A hint and no more:
 * who hears it looks, and a list looks without it.
 */
export function watchSkills(directories: readonly string[], onHint: () => void): Watcher {
  const inside = new Map<string, FSWatcher>();
  const above = new Map<string, FSWatcher>();
  let quiet: NodeJS.Timeout | undefined;

  function start(
    watches: Map<string, FSWatcher>,
    path: string,
    onEvent: (name: string | null) => void,
  ): void {
    if (watches.has(path)) return;
    try {
      const started = watch(path, (_, name) => onEvent(name));
      started.on('error', () => stop(watches, path));
      watches.set(path, started);
    } catch {
      // Not there yet, or too many watches: the next list looks.
    }
  }

  function stop(watches: Map<string, FSWatcher>, path: string): void {
    watches.get(path)?.close();
    watches.delete(path);
  }

  function startAll(): void {
    for (const directory of directories) {
      start(inside, directory, hint);
      const parent = dirname(directory);
      start(above, parent, (name) => {
        const gone = directories.filter((each) => dirname(each) === parent && basename(each) === name);
        // The watch of a directory that was removed or moved stays with what is gone.
        for (const each of gone) stop(inside, each);
        if (gone.length > 0) hint();
      });
    }
  }

  function hint(): void {
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      startAll();
      onHint();
    }, QUIET_MS);
  }

  startAll();
  return {
    close() {
      clearTimeout(quiet);
      for (const watches of [inside, above]) for (const path of [...watches.keys()]) stop(watches, path);
    },
  };
}
