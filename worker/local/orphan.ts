import { type ChildProcess, execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';

/** `workerd.json`: the workerd of the start that runs on the folder, or of one that was killed. */
const Note = z.object({ pid: z.number().int().positive(), command: z.string() });

/**
 * Notes each workerd that this process starts for a folder, also where one takes the place of another that crashed. A
 * process that is killed takes no children along, and this one would keep the port, and with it the devices, to itself.
 * Returns what ends the noting and removes the note.
 */
export function noteWorkerd(folder: string): () => void {
  const path = join(folder, 'workerd.json');
  let noted: ChildProcess | null = null;
  const onProcess = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess };
    child.once('spawn', () => {
      const { pid, spawnfile, spawnargs } = child;
      if (!/\bworkerd(\.exe)?$/.test(spawnfile) || (noted && noted.exitCode === null && !noted.signalCode))
        return;
      noted = child;
      try {
        writeFileSync(path, JSON.stringify({ pid, command: spawnargs.join(' ') }), { mode: 0o600 });
      } catch {
        // Without the note all works but the help after a kill.
      }
    });
  };
  subscribe('child_process', onProcess);
  return () => {
    unsubscribe('child_process', onProcess);
    rmSync(path, { force: true });
  };
}

/**
 * Ends the workerd that an earlier start on the folder left when it was killed. The caller has the folder to itself. On
 * Windows children end with their parent.
 */
export async function endOrphan(folder: string): Promise<void> {
  const note = await readNote(join(folder, 'workerd.json'));
  // Numbers are used again: only the very command of then is ours, for it holds a port drawn by lot.
  if (!note || (await commandOf(note.pid)) !== note.command) return;
  try {
    process.kill(note.pid, 'SIGKILL');
  } catch {
    return;
  }
  for (let wait = 0; wait < 100 && (await commandOf(note.pid)) === note.command; wait++) await setTimeout(20);
}

async function readNote(path: string): Promise<z.infer<typeof Note> | null> {
  try {
    return Note.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}

/** The command line of a process; null where there is none of that number. */
async function commandOf(pid: number): Promise<string | null> {
  try {
    if (process.platform === 'linux') {
      const words = await readFile(`/proc/${pid}/cmdline`, 'utf8');
      return words.split('\0').slice(0, -1).join(' ');
    }
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]);
    return stdout.trimEnd();
  } catch {
    return null;
  }
}
