import { hash } from 'node:crypto';
import { posix, win32 } from 'node:path';

/** Where the agent keeps its own things, and what the platform's file system can hold. */
export interface PlatformPaths {
  /** Folder of the agent's state: ledger, key, settings. */
  state: string;
  /** Address that the one running agent listens on: a Unix socket's path, or a Windows pipe. */
  instance: string;
  /** Modes for what only this user may read; null where access follows from the parent folder (Windows). */
  privateModes: { folder: number; file: number } | null;
  /** Whether files have an executable bit. Without it, digests take the form without modes. */
  executableBit: boolean;
}

export interface PlatformInput {
  platform: NodeJS.Platform;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
}

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, closing NUL included. */
const SOCKET_BYTES = 103;

/**
 * Paths for a platform, without looking at the disk. `REPERTOIRE_STATE` wins everywhere and must be absolute; a relative
 * `XDG_STATE_HOME` is ignored, as the XDG Base Directory Specification asks.
 */
export function platformPaths({ platform, env, home }: PlatformInput): PlatformPaths {
  const windows = platform === 'win32';
  const { join, isAbsolute, normalize } = windows ? win32 : posix;
  const chosen = env.REPERTOIRE_STATE;
  if (chosen && !isAbsolute(chosen)) {
    throw new Error(`REPERTOIRE_STATE is "${chosen}", but it must be a full path.`);
  }
  const state = normalize(chosen || defaultState());
  return {
    state,
    instance: windows ? pipe(state) : socket(state, env),
    privateModes: windows ? null : { folder: 0o700, file: 0o600 },
    executableBit: !windows,
  };

  function defaultState(): string {
    if (windows) return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'repertoire');
    if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'repertoire');
    const xdg = env.XDG_STATE_HOME;
    return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.local', 'state'), 'repertoire');
  }
}

/** Windows compares paths without case, so that two spellings must give one pipe. */
function pipe(state: string): string {
  return `\\\\.\\pipe\\repertoire-${short(state.toLowerCase())}`;
}

/** A state folder too deep for a socket gets a folder of its own, private to the user, in the temporary folder. */
function socket(state: string, env: PlatformInput['env']): string {
  const own = posix.join(state, 'agent.sock');
  if (Buffer.byteLength(own) <= SOCKET_BYTES) return own;
  const names = [env.XDG_RUNTIME_DIR, env.TMPDIR, '/tmp'].filter(
    (folder) => folder && posix.isAbsolute(folder),
  );
  const candidates = names.map((folder) => posix.join(folder as string, `repertoire-${short(state)}`, 's'));
  return candidates.find((path) => Buffer.byteLength(path) <= SOCKET_BYTES) as string;
}

function short(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16);
}
