import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRoot } from '../../../agent/disk/containment.ts';
import { placeFolder, removeFolder } from '../../../agent/disk/place-folder.ts';
import { recover } from '../../../agent/disk/recover.ts';
import { removeFile, writeFile } from '../../../agent/disk/write-file.ts';

/** A process that kills itself at a step, or works as a user without rights; started by the tests beside it. */
export interface Job {
  skills: string;
  act: 'update' | 'create' | 'remove' | 'place' | 'remove-folder' | 'recover';
  /** Number of the step at which the process is killed, from 1; 0 for never. */
  killAt: number;
  base: string | null;
  files: { path: string; text: string; digest: string }[];
  /** What an editor saves just before the old file moves aside. */
  edit?: string;
  hardLinks?: boolean;
  unprivileged?: boolean;
}

const job = JSON.parse(process.argv[2] as string) as Job;
const path = 'alpha/SKILL.md';
let count = 0;
if (job.unprivileged && process.getuid?.() === 0) process.seteuid?.(65534);

const root = openRoot(job.skills, {
  hardLinks: job.hardLinks ?? true,
  step: (step) => {
    if (++count === job.killAt) process.kill(process.pid, 'SIGKILL');
    if (step === 'aside' && job.edit !== undefined) writeFileSync(join(job.skills, path), job.edit);
  },
});
const outcome = await run();
process.stdout.write(JSON.stringify(outcome));

function run(): Promise<unknown> {
  const content = new TextEncoder().encode('new');
  const files = job.files.map(({ path, text }) => ({
    path,
    bytes: new TextEncoder().encode(text),
    executable: false,
  }));
  switch (job.act) {
    case 'update':
    case 'create':
      return writeFile(root, { path, bytes: content, executable: false, base: job.base });
    case 'remove':
      return removeFile(root, path, job.base as string);
    case 'place':
      return placeFolder(root, { name: 'alpha', files });
    case 'remove-folder':
      return removeFolder(root, 'alpha', job.files);
    case 'recover':
      return recover(root);
  }
}
