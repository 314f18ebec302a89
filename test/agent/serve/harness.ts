import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { onTestFinished } from 'vitest';
import { runServe } from '../../../agent/serve/serve.ts';
import type { StateFiles } from '../../../agent/state.ts';

const ROOT = new URL('../../../', import.meta.url);
export const NODE = fileURLToPath(new URL('node_modules/node/bin/node', ROOT));
export const MAIN = fileURLToPath(new URL('agent/main.ts', ROOT));

/** A reference server's program. */
export function program(name: 'memory' | 'everything' | 'filesystem'): string {
  return fileURLToPath(new URL(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, ROOT));
}

/** A folder of this test's own. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'repertoire-serve-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export interface Setup {
  /** Keys of the manifest. */
  manifest: Record<string, unknown>;
  /** Files of the project layer, by name. */
  skills?: Record<string, string>;
  /** Where the manifest `server.yaml` lies; a new folder unless given. */
  directory?: string;
  client?: string;
  era?: 'legacy' | 'modern';
  env?: Record<string, string>;
  options?: ClientOptions;
  /** Called before the handshake. */
  prepare?: (client: Client) => void;
}

/** Writes a manifest and its skills, and gives the manifest's path. */
export function writeProject({ manifest, skills = {}, directory = folder() }: Setup): {
  directory: string;
  path: string;
  /** The project layer's directory. */
  own: string;
} {
  const path = join(directory, 'server.yaml');
  const own = join(directory, 'server.skills');
  writeFileSync(path, JSON.stringify(manifest));
  if (Object.keys(skills).length > 0) mkdirSync(own, { recursive: true });
  for (const [name, text] of Object.entries(skills)) writeFileSync(join(own, name), text);
  return { directory, path, own };
}

export interface Started {
  client: Client;
  /** Process of the program that was started. */
  pid: number;
  /** What was written for the person so far. */
  said: () => string;
  /** Notifications so far, but for progress and log messages that a test waits for itself. */
  heard: { method: string; params?: Record<string, unknown> | undefined }[];
}

/** A client that keeps what it hears. */
function newClient({
  client: name = 'test-client',
  era = 'legacy',
  options = {},
  prepare,
}: Partial<Setup>): Pick<Started, 'client' | 'heard'> {
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new Client({ name, version: '1.2.3' }, { ...options, versionNegotiation: { mode } });
  const heard: Started['heard'] = [];
  client.fallbackNotificationHandler = async (notification) => {
    heard.push(notification);
  };
  prepare?.(client);
  return { client, heard };
}

/** A client on a program's standard input and output. */
export async function start(args: string[], setup: Partial<Setup> = {}): Promise<Started> {
  const home = folder();
  const transport = new StdioClientTransport({
    command: NODE,
    args,
    env: { HOME: home, REPERTOIRE_STATE: join(home, 'state'), ...setup.env },
    stderr: 'pipe',
  });
  let said = '';
  (transport.stderr as Readable).setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const { client, heard } = newClient(setup);
  onTestFinished(() => client.close());
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(said === '' ? String(error) : said, { cause: error });
  }
  return { client, pid: transport.pid as number, said: () => said, heard };
}

/** A client of `repertoire serve`. */
export async function serve(setup: Setup): Promise<Started & ReturnType<typeof writeProject>> {
  const project = writeProject(setup);
  return { ...(await start([MAIN, 'serve', project.path], setup)), ...project };
}

/** The same without a process of its own: what is served is the same, and it starts at once. */
export async function serveHere(
  setup: Setup & { state?: StateFiles | null },
): Promise<Omit<Started, 'pid'> & ReturnType<typeof writeProject> & { ended: Promise<void> }> {
  const project = writeProject(setup);
  const { env = {}, state = null } = setup;
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let said = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const { client, heard } = newClient(setup);
  const ended = runServe({
    manifest: project.path,
    cwd: project.directory,
    env: { HOME: project.directory, ...env },
    stdin,
    stdout,
    stderr,
    version: '0.0.0-test',
    state,
  });
  ended.catch(() => {});
  onTestFinished(async () => {
    await client.close();
    stdin.end();
    await ended.catch(() => {});
  });
  // The two ends of a pipe are alike.
  const connected = client.connect(new StdioServerTransport(stdout, stdin));
  connected.catch(() => {});
  await Promise.race([connected, ended.then(() => connected)]);
  return { client, said: () => said, heard, ended, ...project };
}

/** Runs the command and gives what it printed. */
export async function run(
  args: string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    const home = folder();
    const child = execFile(
      NODE,
      [MAIN, ...args],
      { cwd, env: { ...process.env, HOME: home, REPERTOIRE_STATE: join(home, 'state'), ...env } },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}
