import { hash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A moment before a change to the disk. Tests stop, break or disturb the agent there. */
export type Step =
  | 'stage'
  | 'content'
  | 'sync'
  | 'folder'
  | 'aside'
  | 'link'
  | 'appear'
  | 'put-back'
  | 'copy'
  | 'unstage'
  | 'retire'
  | 'clean'
  | 'empty-folder';

export interface RootOptions {
  /** Make the folder when it is missing. */
  create?: boolean;
  platform?: NodeJS.Platform;
  /** Milliseconds since the epoch: the age of what lies in the trash counts from it. */
  now?: () => number;
  /** Milliseconds between the tries when another program holds a file. */
  delays?: readonly number[];
  /** Called before each change to the disk; what it throws counts as that change's failure. */
  step?: (step: Step) => void;
  /** Whether folders are held open by handle where the system allows it (Linux). */
  handles?: boolean;
  /** False for a file system known to have no hard links; otherwise found out at each write. */
  hardLinks?: boolean;
}

/** A client folder: the only place below which the agent writes for a client. */
export interface Root extends Required<Omit<RootOptions, 'create'>> {
  /** The folder as the client knows it. It, or a folder above it, may be the user's own link. */
  path: string;
  /** Where it really is. */
  real: string;
  identity: Identity;
  /** The agent's own folder beside the real one, on the same file system. Made by the first write. */
  store: string;
}

interface Identity {
  dev: bigint;
  ino: bigint;
}

/** A path leads out of its root, or no longer where it led: nothing may be written there. */
export class Escape extends Error {
  readonly reason: 'link' | 'gone' | 'not_a_folder' | 'moved';
  constructor(reason: Escape['reason'], path: string) {
    super(`${path}: ${ESCAPE[reason]}`);
    this.name = 'Escape';
    this.reason = reason;
  }
}

const ESCAPE = {
  link: 'is a link, and nothing is written through links below a client folder.',
  gone: 'does not exist.',
  not_a_folder: 'is not a folder.',
  moved: 'was moved or replaced while it was being written.',
} as const;

/** 10 tries; together longer than the 5 seconds for which scanners are known to hold a file. */
const DELAYS = [10, 25, 60, 150, 400, 1000, 2000, 2000, 2000];

/**
 * Opens a client folder, following links up to and including it once. Throws one sentence when it is missing (and not to be
 * made), out of reach, no folder, or a mount of its own, so that nothing could be renamed into it. Open it anew for each
 * pass: it may come to lead elsewhere.
 */
export function openRoot(path: string, options: RootOptions = {}): Root {
  const real = resolve(path, options.create ?? false);
  const stat = statSync(real, { bigint: true });
  if (!stat.isDirectory())
    throw new Error(`${path} is not a folder. Move it away, so that a folder can stand there.`);
  const parent = dirname(real);
  if (statSync(parent, { bigint: true }).dev !== stat.dev) {
    throw new Error(
      `${path} is a mount of its own; files cannot be moved into it safely. Mount ${parent} instead.`,
    );
  }
  const platform = options.platform ?? process.platform;
  return {
    path,
    real,
    identity: { dev: stat.dev, ino: stat.ino },
    store: join(parent, `.repertoire-${hash('sha256', real, 'hex').slice(0, 8)}`),
    platform,
    now: options.now ?? Date.now,
    delays: options.delays ?? DELAYS,
    step: options.step ?? (() => {}),
    handles: options.handles ?? (platform === 'linux' && existsSync('/proc/self/fd')),
    hardLinks: options.hardLinks ?? true,
  };
}

function resolve(path: string, create: boolean): string {
  try {
    if (create) mkdirSync(path, { recursive: true });
    const real = realpathSync(path);
    // Else each item in it would look as if it had been replaced.
    if (statSync(real).isDirectory()) accessSync(real, constants.R_OK | constants.X_OK);
    return real;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' && lstatSync(path, { throwIfNoEntry: false })) {
      throw new Error(`${path} is a link that leads nowhere. Repair the link, or remove it.`, { cause });
    }
    if (code === 'ELOOP') {
      throw new Error(`${path} is a link that leads in a circle. Repair the link, or remove it.`, { cause });
    }
    if (code === 'EEXIST' || code === 'ENOTDIR') {
      throw new Error(`${path} is not a folder. Move away the file that stands there.`, { cause });
    }
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be reached or made (${code})`;
    throw new Error(`${path} ${reason}. Make the folder, or allow yourself to write there.`, { cause });
  }
}

/** Gives a path to use at once for a name in the folder, the last one of the opened path when none is given. */
export type At = (name?: string) => string;

/**
 * Runs `act` inside the folder that holds `path` (slashes, relative to the root). Every parent is a real folder below the
 * root, or {@link Escape} is thrown: on entry, and again by each `at()`. On Linux `at()` leads through the open folder
 * itself, so that a link put in a parent's place between the check and the write leads nowhere.
 */
export async function inside<T>(
  root: Root,
  path: string,
  options: { create: boolean },
  act: (at: At) => T | Promise<T>,
): Promise<T> {
  const segments = path.split('/');
  const name = segments.pop() as string;
  const chain = [{ path: root.real, ...root.identity }];
  const handle = { fd: -1 };
  try {
    let via = hold(root, handle, root.real, root.identity);
    let walked = root.real;
    for (const segment of segments) {
      walked = join(walked, segment);
      const next = join(via, segment);
      const identity = look(next, walked) ?? make(root, next, walked, options.create);
      chain.push({ path: walked, ...identity });
      via = hold(root, handle, next, identity);
    }
    const last = via;
    return await act((wanted = name) => {
      for (const link of chain) {
        const now = look(link.path, link.path);
        if (!now || !same(now, link)) throw new Escape('moved', link.path);
      }
      return join(last, basename(wanted));
    });
  } finally {
    if (handle.fd >= 0) closeSync(handle.fd);
  }
}

/** The identity of a real folder; null when nothing is there. */
function look(path: string, shown: string): Identity | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat) return null;
  if (stat.isSymbolicLink()) throw new Escape('link', shown);
  if (!stat.isDirectory()) throw new Escape('not_a_folder', shown);
  return { dev: stat.dev, ino: stat.ino };
}

function make(root: Root, path: string, shown: string, create: boolean): Identity {
  if (!create) throw new Escape('gone', shown);
  root.step('folder');
  mkdirSync(path, { recursive: true });
  const identity = look(path, shown);
  if (!identity) throw new Escape('moved', shown);
  return identity;
}

/** Opens the folder in place of the one held so far, where the platform can; gives the path to go on with. */
function hold(root: Root, handle: { fd: number }, path: string, identity: Identity): string {
  if (!root.handles) return path;
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ELOOP' || code === 'ENOTDIR' || code === 'ENOENT') throw new Escape('moved', path);
    throw error;
  }
  if (handle.fd >= 0) closeSync(handle.fd);
  handle.fd = fd;
  if (!same(fstatSync(fd, { bigint: true }), identity)) throw new Escape('moved', path);
  return `/proc/self/fd/${fd}`;
}

function same(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
