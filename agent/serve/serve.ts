import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  ProtocolErrorCode,
  type Transport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { ClientRow } from '../../schema/clients.ts';
import { StartError } from '../../schema/riding/diagnostic.ts';
import { visible } from '../../schema/visible.ts';
import { callerReader } from '../bridge/caller.ts';
import { sentence } from '../cli/failure.ts';
import type { StateFiles } from '../state.ts';
import { callerOf } from './caller.ts';
import { openProject } from './project.ts';
import { reachServer } from './reach.ts';
import { createReport } from './report.ts';
import { type Session, startSession } from './session.ts';
import { toolsWriter } from './tools-line.ts';

export interface ServeOptions {
  /** Path of the manifest, seen from `cwd`. */
  manifest: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Messages of the client, a line each. */
  stdin: Readable;
  /** Nothing but the protocol. */
  stdout: Writable;
  /** One sentence per line for the person, and what the server behind says. */
  stderr: Writable;
  version: string;
  /** Where the device keeps the registry's items; null to leave them out. */
  state: StateFiles | null;
  signal?: AbortSignal | undefined;
}

/** Bytes. */
const MOST_UNREAD = 1024 * 1024;

/**
 * `repertoire serve`: an MCP server on stdin and stdout that is the manifest's server with skills riding on its tools.
 * Resolves when the client closes stdin or `signal` aborts, and the server behind has ended.
 * @throws StartError, or UpstreamGone when the server cannot be started
 */
export async function runServe(options: ServeOptions): Promise<void> {
  const { cwd, env, stdin, stdout, stderr, version, state, signal } = options;
  const project = openProject(options.manifest, { cwd, env, state });
  const { manifest, path, directory, name } = project;
  if (!manifest.upstream) {
    throw new StartError(`${path} names no server; give it a command or a url.`);
  }
  const reach = reachServer(manifest.upstream, { manifest: path, directory, env });
  const write = (who: string, line: string) => {
    // A client that does not read this loses words for people, and not its server.
    if (stderr.writableLength < MOST_UNREAD) stderr.write(visible(`${who}: ${line}\n`));
  };
  const log = (words: string) => write('repertoire', words);
  const said = (line: string) => write(name, line);
  const report = createReport(log, { debug: env.REPERTOIRE_DEBUG === '1' });

  const ended = Promise.withResolvers<void>();
  const ending = new AbortController();
  const sessions = new Set<Session>();
  const starts = new Set<Promise<Session>>();
  let failed = false;
  let opening: JSONRPCRequest | null = null;
  /** Resources whose changes the client listens to; listening may be the first thing that it does. */
  const listened = new Set<string>();
  let row: ClientRow | null = null;
  const readCaller = callerReader(env);

  const wire = observe(new StdioServerTransport(stdin, stdout), {
    write: toolsWriter(stdout),
    onMessage(message) {
      if (!isJSONRPCRequest(message)) return;
      opening = message;
      row = readCaller(message).client;
      if (message.method === 'subscriptions/listen') {
        for (const uri of resourcesOf(message)) listened.add(uri);
        for (const session of sessions) session.follow(listened);
      }
    },
    onClose: ended.resolve,
  });

  const handle = serveStdio(
    async ({ era }) => {
      const caller = callerOf(opening, era, version);
      try {
        const { signal } = ending;
        const client = () => row;
        const started = startSession({ project, reach, caller, client, version, said, log, report, signal });
        starts.add(started);
        const session = await started;
        sessions.add(session);
        session.follow(listened);
        return session.server;
      } catch (error) {
        failed = true;
        // The client reads why, where it shows that; the person reads it either way.
        if (opening && !ending.signal.aborted) {
          const { id } = opening;
          const { InternalError: code } = ProtocolErrorCode;
          const sent = wire.send({ jsonrpc: '2.0', id, error: { code, message: sentence(error) } });
          await sent.catch(() => {});
        }
        ended.reject(error);
        throw error;
      }
    },
    {
      transport: wire,
      onerror({ message }) {
        if (!failed && !ending.signal.aborted) log(message.split('\n')[0] as string);
      },
    },
  );
  signal?.addEventListener('abort', () => ended.resolve(), { once: true });
  try {
    await ended.promise;
  } finally {
    ending.abort();
    await handle.close();
    await Promise.allSettled([...starts].map(async (started) => (await started).close()));
  }
}

/** A transport whose messages are looked at before they arrive. */
function observe(
  inner: StdioServerTransport,
  {
    write,
    onMessage,
    onClose,
  }: {
    /** Null for what the transport itself is to write. */
    write: (message: JSONRPCMessage) => Promise<void> | null;
    onMessage: (message: JSONRPCMessage) => void;
    onClose: () => void;
  },
): Transport {
  const outer: Transport = {
    start: () => inner.start(),
    send: (message) => write(message) ?? inner.send(message),
    close: () => inner.close(),
  };
  inner.onmessage = (message) => {
    onMessage(message);
    outer.onmessage?.(message);
  };
  inner.onerror = (error) => outer.onerror?.(error);
  inner.onclose = () => {
    outer.onclose?.();
    onClose();
  };
  return outer;
}

function resourcesOf({ params }: JSONRPCRequest): string[] {
  const { resourceSubscriptions } = (params?.notifications ?? {}) as { resourceSubscriptions?: unknown };
  return Array.isArray(resourceSubscriptions)
    ? resourceSubscriptions.filter((uri) => typeof uri === 'string')
    : [];
}
