import { type FSWatcher, watch } from 'node:fs';
import type { Project } from './project.ts';

export interface Watcher {
  /** Watches what is there now as well; directories come and go. */
  refresh(): void;
  close(): void;
}

/** An editor writes a file in several steps; they make one hint. */
const QUIET_MS = 100;

/** Hints that skill files may have changed. A hint and no more: who hears it looks, and a list looks without it. */
export function watchSkills(watched: Project['watched'], onHint: () => void): Watcher {
  const watches = new Map<string, FSWatcher>();
  let quiet: NodeJS.Timeout | undefined;
  let closed = false;

  function start({ directory, only }: Project['watched'][number]): void {
    if (watches.has(directory)) return;
    try {
      const started = watch(directory, (_, name) => {
        if (only !== undefined && name !== only) return;
        // The watch of a directory that was removed or moved stays with what is gone.
        if (only !== undefined) stopAllBut(directory);
        clearTimeout(quiet);
        quiet = setTimeout(onHint, QUIET_MS);
      });
      started.on('error', () => stop(directory));
      watches.set(directory, started);
    } catch {
      // Not there yet, or too many watches: the next list looks.
    }
  }

  function stop(directory: string): void {
    watches.get(directory)?.close();
    watches.delete(directory);
  }

  function stopAllBut(directory: string): void {
    for (const each of [...watches.keys()]) if (each !== directory) stop(each);
  }

  const refresh = () => {
    if (!closed) for (const each of watched) start(each);
  };
  refresh();
  return {
    refresh,
    close() {
      closed = true;
      clearTimeout(quiet);
      for (const directory of [...watches.keys()]) stop(directory);
    },
  };
}
