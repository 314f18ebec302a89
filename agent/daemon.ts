import type { Machine } from '../schema/folders.ts';
import { readDeviceKey } from './device-key.ts';
import { sweepTrash } from './disk/trash.ts';
import { claimInstance, type Instance } from './instance.ts';
import { type Listen, listen } from './listen.ts';
import { openMirror } from './mirror.ts';
import { createFolders, type PassDeps } from './pass.ts';
import type { PlatformPaths } from './platform.ts';
import { Registry } from './registry.ts';
import { createReporter } from './report.ts';
import {
  type Condition,
  makeStateFolder,
  openRecords,
  readCondition,
  readDevice,
  readSettings,
  stateFiles,
} from './state.ts';
import { createSync, type LogLine, type Sync, type SyncStatus } from './sync.ts';
import { watchPlaced } from './watch.ts';

export interface AgentOptions {
  paths: PlatformPaths;
  machine: Machine;
  /** Version of the agent. */
  version: string;
  log: (line: LogLine) => void;
  /** Ends the agent after the write that is under way. */
  signal: AbortSignal;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  /** Milliseconds between full passes. */
  interval?: number;
  timing?: Listen['timing'];
  step?: PassDeps['step'];
}

/** What the running agent answers to `{"type":"status"}`, `{"type":"stop"}` and, after a full pass, to `{"type":"sync"}`. */
export interface AgentStatus extends SyncStatus {
  pid: number;
  version: string;
  url: string;
  device: string;
  cursor: string | null;
  /** Whether the socket to the doorbell is open. */
  listening: boolean;
  /** When another machine took this one's place there with the same key. */
  replaced_at: number | null;
  condition: Condition;
}

/** `busy`: another process is the agent. `replaced` alone never ends it. */
export type Ended = { ended: 'stopped' | 'busy' } | { ended: 'unpaired'; message: string };

/** This device is not paired. */
class NotPaired extends Error {
  constructor() {
    super('This device is not paired. Run "repertoire pair URL" with the URL of your registry.');
    this.name = 'NotPaired';
  }
}

const INTERVAL_MS = 5 * 60_000;

/**
 * Runs the agent until it is told to stop or the registry no longer knows the device; every file stays then.
 * @throws NotPaired, StateError
 */
export async function runDaemon(options: AgentOptions): Promise<Ended> {
  const { signal, log, interval = INTERVAL_MS, now = Date.now } = options;
  return asAgent(options, async (agent) => {
    const { sync, registry, records } = agent;
    const watcher = watchPlaced(records, sync.hint);
    const timer = setInterval(sync.full, interval);
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, ended.signal]);
    agent.stop = () => ended.abort();
    agent.afterPass = watcher.refresh;
    log({ level: 'info', message: 'The agent runs; Ctrl-C stops it, and every file stays.' });
    try {
      sync.full();
      const listening = listen({
        http: registry.http,
        onOpen() {
          agent.listening = true;
          log({ level: 'info', message: 'Listening for changes.' });
          sync.full();
        },
        onRing: sync.ring,
        onDoubt: sync.doubt,
        onClosed(reason, retryInMs) {
          agent.listening = false;
          log({ level: 'info', message: reason, retry_in_ms: Math.round(retryInMs) });
        },
        signal: stop,
        ...(options.random ? { random: options.random } : {}),
        ...(options.timing ? { timing: options.timing } : {}),
      }).then(async (how) => {
        agent.listening = false;
        if (how === 'replaced') {
          agent.replacedAt = now();
          const message =
            'Another machine listens with the key of this device; changes are fetched on a timer from now on. "repertoire status" says what to do.';
          log({ level: 'warn', message });
        }
        if (how === 'unpaired') {
          sync.doubt();
          // The pass that asks again finds out, and stops the writing for good.
          sync.full();
        }
      });
      const message = await Promise.race([sync.unpaired, aborted(stop)]);
      ended.abort();
      await listening;
      return message === null ? { ended: 'stopped' } : { ended: 'unpaired', message };
    } finally {
      clearInterval(timer);
      ended.abort();
      watcher.close();
    }
  });
}

/** Syncs once, reports, and ends. @throws NotPaired, StateError */
export async function runOnce(
  options: AgentOptions,
): Promise<Ended | { ended: 'done'; status: AgentStatus }> {
  return asAgent(options, async ({ sync, status }) => {
    sync.full();
    await sync.idle();
    const { condition, ...rest } = status();
    if (condition.unpaired) return { ended: 'unpaired', message: condition.unpaired.message };
    return { ended: 'done', status: { ...rest, condition } };
  });
}

interface Agent {
  sync: Sync;
  registry: Registry;
  records: ReturnType<typeof openRecords>;
  listening: boolean;
  replacedAt: number | null;
  afterPass: () => void;
  /** Ends it as the signal does. */
  stop: () => void;
  status(): AgentStatus;
}

/** Claims to be the one agent, opens its state, and runs. */
async function asAgent<T>(
  options: AgentOptions,
  run: (agent: Agent) => Promise<T>,
): Promise<T | { ended: 'busy' }> {
  const { paths, machine, version, signal, log, now = Date.now } = options;
  const files = stateFiles(paths.state);
  const device = readDevice(files);
  const key = device && (await readDeviceKey(files.key));
  if (!device || !key) throw new NotPaired();
  makeStateFolder(files);

  let answer: (message: unknown) => unknown = () => {
    throw new Error('The agent is just starting. Try again in a moment.');
  };
  const instance: Instance | 'busy' = await claimInstance(paths.instance, (message) => answer(message));
  if (instance === 'busy') return { ended: 'busy' };
  try {
    // Damaged ones are refused before anything is done.
    readSettings(files);
    readCondition(files);
    const mirror = openMirror(files.mirror);
    const records = openRecords(files);
    const registry = new Registry({
      url: device.url,
      credentials: { type: 'device', key },
      now,
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
    const folders = createFolders({
      files,
      records,
      mirror,
      machine,
      executableBit: paths.executableBit,
      now,
      ...(options.step ? { step: options.step } : {}),
    });
    const sync = createSync({
      files,
      mirror,
      folders,
      registry,
      reporter: createReporter({ files, records, registry, version }),
      log,
      now,
      signal,
      afterPass: () => agent.afterPass(),
      async housekeeping() {
        mirror.sweep();
        for (const root of folders.roots()) {
          for (const { path, copy } of await sweepTrash(root)) {
            log({
              level: 'warn',
              message: `A change that was made to ${path} after it was replaced is kept as ${copy}.`,
            });
          }
        }
      },
    });
    const agent: Agent = {
      sync,
      registry,
      records,
      listening: false,
      replacedAt: null,
      afterPass: () => {},
      stop: () => {},
      status: () => ({
        ...sync.status,
        pid: process.pid,
        version,
        url: device.url,
        device: device.device,
        cursor: mirror.cursor,
        listening: agent.listening,
        replaced_at: agent.replacedAt,
        condition: readCondition(files),
      }),
    };
    answer = async (message) => {
      const { type } = message as { type?: unknown };
      if (type === 'sync') {
        sync.full();
        await sync.idle();
      } else if (type === 'stop') setImmediate(agent.stop);
      else if (type !== 'status')
        throw new Error('The running agent does not know this question; restart it.');
      return agent.status();
    };
    try {
      return await run(agent);
    } finally {
      await sync.idle();
    }
  } finally {
    await instance.release();
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null), { once: true }));
}
