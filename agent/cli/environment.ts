import type { Readable, Writable } from 'node:stream';
import type { Platform } from '../../schema/folders.ts';

/** What the command takes from its process, so that nothing below `main.ts` looks at it. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: Platform;
  readonly hostname: string;
  /** As Node names it, such as `x64`. */
  readonly architecture: string;
  /** What starts this command: program and leading arguments, full paths. */
  readonly command: readonly string[];
  /** Folder that relative paths start from. */
  readonly cwd: string;
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  /** From the first call on, Ctrl-C and a request to end abort the signal instead of ending the process at once. */
  onStop(): AbortSignal;
}
