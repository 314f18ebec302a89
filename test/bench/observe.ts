import { existsSync, type FSWatcher, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clock } from './child.ts';

/** Sees for itself when files have new bytes, whoever writes them. */
export interface Observer {
  /** Resolves, once every folder's file holds the text, to when the last folder of each device had it. */
  next(text: string): Promise<number[]>;
  close(): void;
}

/** Watches one file in the folders of each device. Waits until all of them exist. */
export async function observe(devices: readonly (readonly string[])[], name: string): Promise<Observer> {
  const watchers: FSWatcher[] = [];
  let awaited = '';
  let missing = new Set<string>();
  let arrived: number[] = [];
  let done: (arrived: number[]) => void = () => {};

  function look(device: number, path: string): void {
    if (!missing.has(path) || !holds(path, awaited)) return;
    missing.delete(path);
    arrived[device] = clock();
    if (missing.size === 0) done(arrived);
  }

  for (const [device, folders] of devices.entries()) {
    for (const folder of folders) {
      const path = join(folder, name);
      while (!existsSync(path)) await sleep(20);
      watchers.push(watch(folder, () => look(device, path)));
    }
  }
  return {
    next(text) {
      awaited = text;
      arrived = [];
      missing = new Set(devices.flatMap((folders) => folders.map((folder) => join(folder, name))));
      return new Promise((resolve) => {
        done = resolve;
        for (const [device, folders] of devices.entries())
          for (const folder of folders) look(device, join(folder, name));
      });
    },
    close() {
      for (const watcher of watchers) watcher.close();
    },
  };
}

function holds(path: string, text: string): boolean {
  try {
    return readFileSync(path, 'utf8').includes(text);
  } catch {
    // The moment between moving the old file aside and linking the new one.
    return false;
  }
}
