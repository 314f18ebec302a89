import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** How an editor saves, in a thread of its own, so that it truly runs at the same time as the agent. */
export type Mode = 'rename' | 'in place' | 'delete' | 'folder over';
export interface Save {
  mode: Mode;
  path: string;
  text: string;
  /** Microseconds after the start signal. */
  after: number;
}

const start = new Int32Array(workerData as SharedArrayBuffer);

parentPort?.on('message', (save: Save) => {
  parentPort?.postMessage('ready');
  while (Atomics.load(start, 0) === 0);
  pause(save.after);
  parentPort?.postMessage(attempt(save));
});

/** Whether the text was written, as far as the editor can tell. */
function attempt({ mode, path, text }: Save): boolean {
  try {
    if (mode === 'rename') {
      writeFileSync(`${path}~`, text);
      renameSync(`${path}~`, path);
    } else if (mode === 'in place') {
      const fd = openSync(path, 'w');
      pause(200);
      writeSync(fd, text);
      closeSync(fd);
    } else if (mode === 'delete') {
      unlinkSync(path);
      return false;
    } else {
      rmSync(path);
      mkdirSync(path);
      writeFileSync(`${path}/inner`, text);
    }
    return true;
  } catch {
    return false;
  }
}

function pause(microseconds: number): void {
  const until = performance.now() + microseconds / 1000;
  while (performance.now() < until);
}
