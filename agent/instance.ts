import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Unwritten, writing } from './json-file.ts';

export interface Instance {
  /** Stops listening and hangs up; the next claim succeeds. */
  release(): Promise<void>;
}

/** Answers one message of another command. What it throws reaches the asker as one sentence. */
export type Handler = (message: unknown) => unknown;

const LINE_BYTES = 1024 * 1024;
/** A process that holds the guard needs milliseconds; one that died with it must not block for ever. */
const GUARD_MS = 5000;

/**
 * Makes this process the one agent of its user by listening on the address, which the system frees when the process
 * ends, however it ends. 'busy' when another process listens there. Other commands reach the handler with {@link ask}.
 */
export async function claimInstance(address: string, handler: Handler): Promise<Instance | 'busy'> {
  const pipe = address.startsWith('\\\\');
  if (!pipe) privateFolder(dirname(address));
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    void serve(socket, handler);
  };
  for (;;) {
    const server = await listen(address, accept);
    if (server) {
      if (!pipe) chmodSync(address, 0o600);
      return { release: () => close(server, sockets) };
    }
    if (pipe || (await answers(address))) return 'busy';
    await clearStale(address);
  }
}

/**
 * Sends one message to the running agent and gives its answer; null when no agent runs. Throws when the agent refuses,
 * or does not answer in time.
 */
export async function ask(address: string, message: unknown, timeoutMs = 30_000): Promise<unknown> {
  const socket = await dial(address);
  if (!socket) return null;
  try {
    socket.write(`${JSON.stringify(message)}\n`);
    const line = await firstLine(socket, timeoutMs);
    if (line === null) throw new Error('The running agent did not answer. Try again, or restart it.');
    const reply = JSON.parse(line) as { answer?: unknown; error?: string };
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply.answer ?? null;
  } finally {
    socket.destroy();
  }
}

/** Has the running agent end, and waits until it has. @throws when it is still there after some seconds */
export async function stopAgent(address: string): Promise<void> {
  // It may be ending for another reason just now, and then answers nothing.
  await ask(address, { type: 'stop' }).catch(() => null);
  // A pass that is under way ends first, which takes its time with many files or on a busy machine.
  for (let tries = 0; tries < 600; tries++) {
    if (!(await answers(address))) return;
    await sleep(50);
  }
  throw new Error('The running agent does not end. End its process, then try again.');
}

function listen(address: string, accept: (socket: Socket) => void): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer(accept);
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(new Unwritten(address, error));
    });
    server.listen(address, () => resolve(server));
  });
}

async function serve(socket: Socket, handler: Handler): Promise<void> {
  socket.on('error', () => socket.destroy());
  const line = await firstLine(socket, 10_000);
  if (line === null) return void socket.destroy();
  const reply = await answer(line, handler);
  socket.end(`${JSON.stringify(reply)}\n`);
}

async function answer(line: string, handler: Handler): Promise<{ answer: unknown } | { error: string }> {
  try {
    return { answer: (await handler(JSON.parse(line))) ?? null };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function firstLine(socket: Socket, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (line: string | null) => {
      clearTimeout(timer);
      resolve(line);
    };
    const timer = setTimeout(() => done(null), timeoutMs);
    socket.on('data', (chunk: Buffer) => {
      const end = chunk.indexOf(10);
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
      size += chunk.length;
      if (end >= 0) done(Buffer.concat(chunks).toString());
      else if (size > LINE_BYTES) done(null);
    });
    socket.once('close', () => done(null));
  });
}

function dial(address: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    socket.once('connect', () => resolve(socket));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else reject(error);
    });
  });
}

async function answers(address: string): Promise<boolean> {
  const socket = await dial(address);
  socket?.destroy();
  return socket !== null;
}

/**
 * Removes the socket of a process that died. The guard lets one claimant at a time do so, and the second look under the
 * guard spares a socket whose owner had bound it but did not listen yet.
 */
async function clearStale(address: string): Promise<void> {
  const guard = `${address}.guard`;
  if (!takeGuard(guard)) return void (await sleep(20));
  try {
    await sleep(20);
    if (!(await answers(address))) rmSync(address, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function takeGuard(guard: string): boolean {
  try {
    closeSync(openSync(guard, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const since = statSync(guard, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Math.abs(Date.now() - since) > GUARD_MS) rmSync(guard, { force: true });
    return false;
  }
}

function privateFolder(folder: string): void {
  writing(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.()) {
    throw new Error(
      `${folder} belongs to someone else, so the agent cannot listen there. Set REPERTOIRE_STATE to a folder of your own.`,
    );
  }
}

function close(server: Server, sockets: Iterable<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((resolve) => server.close(() => resolve()));
}
