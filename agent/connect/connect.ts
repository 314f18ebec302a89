import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Machine } from '../../schema/folders.ts';
import { platformPaths } from '../platform.ts';
import { stateFiles } from '../state.ts';
import { type ConfigFile, deleteConfig, makeFolders, readConfig, writeConfig } from './config-file.ts';
import { ConnectError } from './connect-error.ts';
import { type Connection, noteConnection, readConnection } from './connection.ts';
import { changedSpan, type Format, revertSpan, type ServerPath, showSpan } from './format.ts';
import { jsonFormat } from './json.ts';
import {
  CLIENT_NAMES,
  clientTarget,
  findClient,
  type Launch,
  SERVER_NAME,
  serverEntry,
  type Target,
} from './target.ts';
import { tomlFormat } from './toml.ts';

export interface ConnectOptions extends Machine, Launch {
  /** One of `CLIENT_NAMES`, or a client's id. */
  client: string;
  /** Says what would change and writes nothing. */
  dryRun?: boolean;
  /** Takes back what was written. */
  undo?: boolean;
}

export interface ConnectResult {
  /** Id of `schema/clients.ts`. */
  client: string;
  /** The configuration file. */
  path: string;
  /** `unchanged`: it was as wished already. With `dryRun` what would have been done. */
  done: 'connected' | 'disconnected' | 'unchanged';
  /** Lines that go and come, below the file's path; empty when unchanged. */
  diff: string;
  /** One sentence for the person. */
  message: string;
}

/** What an edit makes of a file; null text where the file goes. */
interface Edit {
  file: ConfigFile;
  text: string | null;
  /** What to note once it is done. */
  connection: Connection | null;
}

/** A client may rewrite its configuration at any moment. */
const TRIES = 3;

/**
 * Writes the server `repertoire mcp` into a client's own configuration, or takes it out again, and notes in the device's
 * settings that the client is connected. Everything else in the file stays, byte for byte.
 * @throws ConnectError with one sentence when the file is left as it is
 */
export function connectClient(options: ConnectOptions): ConnectResult {
  const { env, home, platform, dryRun = false, undo = false } = options;
  const client = findClient(options.client);
  if (!client) {
    throw new ConnectError(
      `There is no client named ${options.client} to connect; the names are ${CLIENT_NAMES.join(', ')}.`,
    );
  }
  const target = clientTarget(client, { env, home, platform });
  const entry = serverEntry(client, { env, home, platform }, options);
  const files = stateFiles(platformPaths({ env, home, platform }).state);
  const known = readConnection(files, client);

  for (let tries = 1; tries <= TRIES; tries++) {
    const { file, text, connection } = undo
      ? planUndo(target, entry, known)
      : planConnect(target, entry, known);
    const result = describe(target, file, text, undo);
    if (dryRun) return result;
    if (result.done !== 'unchanged') {
      const outermost = file.mode === null ? makeFolders(file.path) : null;
      if (connection && outermost !== null) connection.folder = outermost;
      if (text === null) deleteConfig(file.path, known?.folder ?? null);
      else if (!writeConfig(file, text)) continue;
    }
    noteConnection(files, client, connection);
    return result;
  }
  throw new ConnectError(
    `${target.title} keeps changing its configuration just now, so it was left as it is; close ${target.title} and try again.`,
  );
}

function planConnect(target: Target, entry: Record<string, unknown>, known: Connection | null): Edit {
  const opened = open(target, known);
  const { file, format, at, root } = opened;
  const current = serverIn(root, at);
  if (current !== undefined && !isOurs(current, entry, opened.known)) {
    throw new ConnectError(
      `${file.path} already has a server named ${SERVER_NAME} that this command did not write, so it was left as it is; rename or remove it, then connect again.`,
    );
  }
  if (current !== undefined && isCurrent(current, entry, opened.known)) {
    const found = { path: file.path, entry, span: null, made: false, contained: false, folder: null };
    return { file, text: file.text, connection: opened.known ? { ...opened.known, entry } : found };
  }
  // What the client itself added to our entry, such as an approval, is kept.
  const bare = current === undefined ? { text: file.text, root } : takeOut(opened);
  const extras = Object.entries(current ?? {}).filter(([key]) => !(key in (opened.known?.entry ?? entry)));
  const next = { ...entry, ...Object.fromEntries(extras) };
  const text = attempt(file, () => format.put(bare.text, at, next));
  verify(opened, text, bare.root, next);
  return {
    file,
    text,
    connection: {
      path: file.path,
      entry,
      span: changedSpan(bare.text, text),
      made: file.mode === null || opened.known?.made === true,
      contained: !(at[0] in bare.root),
      folder: opened.known?.folder ?? null,
    },
  };
}

function planUndo(target: Target, entry: Record<string, unknown>, known: Connection | null): Edit {
  const opened = open(target, known);
  const { file, root, at } = opened;
  const current = serverIn(root, at);
  if (current === undefined) return { file, text: file.text, connection: null };
  if (!isOurs(current, entry, opened.known)) {
    throw new ConnectError(
      `The server named ${SERVER_NAME} in ${file.path} is not as this command wrote it, so it was left as it is; remove it by hand.`,
    );
  }
  const bare = takeOut(opened);
  const gone = opened.known?.made === true && Object.keys(bare.root).length === 0;
  return { file, text: gone ? null : bare.text, connection: null };
}

interface Opened {
  file: ConfigFile;
  format: Format;
  at: ServerPath;
  root: Record<string, unknown>;
  /** What was written into this very file. */
  known: Connection | null;
}

function open(target: Target, known: Connection | null): Opened {
  const { candidates, container } = target;
  const written = candidates.filter((candidate) => candidate === known?.path);
  const path =
    [...written, ...candidates].find((candidate) => existsSync(candidate)) ?? (candidates.at(-1) as string);
  const file = readConfig(path);
  const format = target.format === 'json' ? jsonFormat : tomlFormat;
  const root = attempt(file, () => format.parse(file.text));
  const servers = root[container];
  if (servers !== undefined && !isObject(servers)) {
    throw new ConnectError(
      `${path} was left as it is, because its ${container} is no table of servers; repair it, then connect again.`,
    );
  }
  return { file, format, at: [container, SERVER_NAME], root, known: known?.path === path ? known : null };
}

/** The text without our server: exactly what it was before, where nothing near the server has changed since. */
function takeOut(opened: Opened): { text: string; root: Record<string, unknown> } {
  const { file, format, at, known } = opened;
  const reverted = known?.span ? revertSpan(file.text, known.span) : null;
  const emptied = known?.contained ?? false;
  const dropped = () => format.drop(file.text, at, { emptied });
  for (const make of reverted === null ? [dropped] : [() => reverted, dropped]) {
    const text = attempt(file, make);
    const root = attempt(file, () => format.parse(text));
    if (isDeepStrictEqual(others(root, at), others(opened.root, at)) && serverIn(root, at) === undefined) {
      return { text, root };
    }
  }
  throw unedited(file);
}

function verify(opened: Opened, text: string, bare: Record<string, unknown>, entry: object): void {
  const { file, format, at } = opened;
  let root: Record<string, unknown>;
  try {
    root = format.parse(text);
  } catch {
    throw unedited(file);
  }
  const written = serverIn(root, at);
  const right = written !== undefined && isDeepStrictEqual(plain(written), plain(entry));
  if (!right || !isDeepStrictEqual(others(root, at), others(bare, at))) throw unedited(file);
}

function unedited(file: ConfigFile): ConnectError {
  return new ConnectError(
    `${file.path} was left as it is, because its servers are written in a form that cannot be changed safely; add or remove the server named ${SERVER_NAME} by hand.`,
  );
}

function attempt<T>(file: ConfigFile, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const [reason] = (cause as Error).message.split('\n');
    throw new ConnectError(
      `${file.path} was left as it is, because it is not valid (${reason}); repair it, then connect again.`,
      { cause },
    );
  }
}

function describe(
  { client, title }: Target,
  file: ConfigFile,
  text: string | null,
  undo: boolean,
): ConnectResult {
  const { path } = file;
  if (text === file.text) {
    const state = undo ? 'is not connected' : 'is connected already';
    return { client, path, done: 'unchanged', diff: '', message: `${title} ${state}; ${path} is unchanged.` };
  }
  const diff = showSpan(path, changedSpan(file.text, text ?? ''));
  return undo
    ? { client, path, done: 'disconnected', diff, message: `${title} no longer has the server; restart it.` }
    : {
        client,
        path,
        done: 'connected',
        diff,
        message: `${title} has the server now; restart it to use it.`,
      };
}

/** Ours is what we wrote, whatever the client added to it, or what we would write now. */
function isOurs(current: Record<string, unknown>, entry: object, known: Connection | null): boolean {
  return holds(current, entry) || (known !== null && holds(current, known.entry));
}

/** Nothing is missing, and nothing is left of what we wrote before. */
function isCurrent(current: Record<string, unknown>, entry: object, known: Connection | null): boolean {
  const stale = Object.keys(known?.entry ?? {}).filter((key) => !(key in entry));
  return holds(current, entry) && stale.every((key) => !(key in current));
}

function holds(current: Record<string, unknown>, entry: object): boolean {
  return Object.entries(entry).every(([key, value]) => isDeepStrictEqual(plain(current[key]), plain(value)));
}

function serverIn(
  root: Record<string, unknown>,
  [container, name]: ServerPath,
): Record<string, unknown> | undefined {
  const servers = root[container];
  if (!isObject(servers) || !Object.hasOwn(servers, name)) return undefined;
  const server = servers[name];
  return isObject(server) ? server : { '': server };
}

/** Everything but the server, and but its container where nothing else is in it. */
function others(root: Record<string, unknown>, [container, name]: ServerPath): Record<string, unknown> {
  const { [container]: servers, ...rest } = root;
  const { [name]: _, ...left } = (servers ?? {}) as Record<string, unknown>;
  return Object.keys(left).length === 0 ? rest : { ...rest, [container]: left };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parsers differ in what their objects inherit. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
