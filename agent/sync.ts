import { RegistryError } from '../schema/errors.ts';
import { Unpaired } from './http.ts';
import type { Mirror } from './mirror.ts';
import type { Folders, PassResult } from './pass.ts';
import { fetchMissing, isBefore, pullChanges } from './pull.ts';
import type { Registry } from './registry.ts';
import type { Reporter } from './report.ts';
import { changeCondition, readCondition, readSettings, rewindKey, type StateFiles } from './state.ts';
import type { Scope } from './survey.ts';

/** One line of the agent's log: what happened, and facts that go with it. Never holds a secret. */
export interface LogLine {
  level: 'info' | 'warn';
  message: string;
  [fact: string]: unknown;
}

export interface SyncDeps {
  files: StateFiles;
  mirror: Mirror;
  folders: Folders;
  registry: Registry;
  reporter: Reporter;
  log: (line: LogLine) => void;
  now: () => number;
  signal: AbortSignal;
  /** Called after each pass. */
  afterPass?: () => void;
  /** Runs inside the loop after each full pass, so that it never meets a write. */
  housekeeping?: () => Promise<void>;
  /** Milliseconds between the tries for an answer that lags. */
  delays?: readonly number[];
  /** Milliseconds from a pass to its report. */
  reportDelay?: number;
}

export interface SyncStatus {
  /** Whether the last request to the registry was answered. */
  online: boolean;
  /** Milliseconds since the epoch; null before the first. */
  last_pass_at: number | null;
  /** Why the last pass did not do all it should. */
  problem: string | null;
  result: PassResult | null;
}

export interface Sync {
  /** The registry is at a cursor now. */
  ring(cursor: string): void;
  /** Look at everything. */
  full(): void;
  /** The registry may no longer know this device: nothing more is written until it has answered again. */
  doubt(): void;
  /** The disk may have changed under these items. */
  hint(items: Iterable<string>): void;
  /** Resolves when nothing is running or asked for, reports included. */
  idle(): Promise<void>;
  readonly status: SyncStatus;
  /** Resolves when the registry no longer knows this device. */
  readonly unpaired: Promise<string>;
}

interface Asked {
  pull: boolean;
  rung: string | null;
  scope: 'all' | Set<string>;
}

/**
 * The loop that keeps the device as the registry wishes: pull, plan, apply, report.
 * - Passes never run concurrently.
 * - Whatever is asked for during a pass makes one more pass, however often it is asked.
 * - A pass that began is finished: an abort cuts waiting for the network short, never a write. In doubt whether the registry
 *   still knows the device it ends with the items that are being written.
 * - A ring looks only at what changed; the report follows the write and does not delay the next pass.
 * - Reports that the registry did not take are told again with the next pass.
 * - Without the registry, what is known already is still kept on disk.
 * - A registry that went back in time, or that no longer knows the device, stops all writing.
 */
export function createSync(deps: SyncDeps): Sync {
  const { files, mirror, folders, registry, reporter, log, now, signal, reportDelay = 200 } = deps;
  const status: SyncStatus = { online: false, last_pass_at: null, problem: null, result: null };
  const ended = Promise.withResolvers<string>();
  let asked: Asked | null = null;
  let running: Promise<void> | null = null;
  let unreported: NodeJS.Timeout | undefined;
  let reporting: Promise<void> = Promise.resolve();
  let stopped = false;
  /** How often it was doubted that the registry knows the device, and how often of that it has answered since. */
  let doubts = 0;
  let answered = 0;
  /** Items that changed and that no pass has looked at yet. */
  const unseen = new Set<string>();

  function ask(more: Asked): void {
    if (stopped || signal.aborted) return;
    asked = asked ? join(asked, more) : more;
    start();
  }

  function start(): void {
    running ??= loop().then(() => {
      running = null;
      // What was asked between the loop's last look and here.
      if (asked && !stopped && !signal.aborted) start();
    });
  }

  async function loop(): Promise<void> {
    while (asked && !stopped && !signal.aborted) {
      const current = asked;
      asked = null;
      try {
        await once(current);
      } catch (error) {
        if (signal.aborted) return;
        status.problem = error instanceof Error ? error.message : String(error);
        log({ level: 'warn', message: status.problem });
      }
    }
  }

  async function once({ pull, rung, scope }: Asked): Promise<void> {
    status.problem = null;
    if (pull && !(await bring(rung, scope === 'all'))) return;
    const looked: Scope = scope === 'all' ? scope : new Set([...scope, ...unseen]);
    if (looked !== 'all' && looked.size === 0) return report();
    const result = await folders.pass(looked, () => doubts > answered);
    unseen.clear();
    for (const { folder, message } of result.folders) {
      const before = status.result?.folders.find((other) => other.folder.path === folder.path);
      if (message !== undefined && message !== before?.message) log({ level: 'warn', message });
    }
    status.result = result;
    status.last_pass_at = now();
    for (const { action, kind, name, revision, message } of result.events) {
      const level = action === 'failed' || action === 'held_back' ? 'warn' : 'info';
      const what =
        message === undefined ? `${action} ${kind} ${name}` : naming(`${kind} ${name}`, name, message);
      log({ level, message: what, action, kind, name, revision });
    }
    report();
    deps.afterPass?.();
    if (scope === 'all') await deps.housekeeping?.();
  }

  /** Brings the mirror up to date as far as the registry can be reached; false when nothing may be written. */
  async function bring(rung: string | null, full: boolean): Promise<boolean> {
    const before = doubts;
    const { rewound } = readCondition(files);
    const afresh = rewound !== null && readSettings(files).rewound_to === rewindKey(rewound);
    try {
      await pullChanges({
        mirror,
        registry,
        rung,
        afresh,
        changed: unseen,
        signal,
        ...(deps.delays ? { delays: deps.delays } : {}),
      });
      if (full)
        for (const failure of await fetchMissing({ mirror, registry, signal }, mirror.items())) {
          log({ level: 'warn', message: failure });
        }
      status.online = true;
      answered = before;
      changeCondition(files, { rewound: null, unpaired: null });
      return true;
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      status.online = error.code !== 'unavailable';
      if (error.code === 'registry_rewound') return question(error);
      status.problem = error.message;
      log({ level: 'warn', message: error.message, code: error.code });
      return error instanceof Unpaired ? stop(error.message) : true;
    }
  }

  function stop(message: string): false {
    stopped = true;
    changeCondition(files, { unpaired: { at: now(), message } });
    ended.resolve(message);
    return false;
  }

  function question({ details }: RegistryError): false {
    const cursor = details.cursor ?? '';
    const message = `The registry is at ${cursor}, before the ${mirror.cursor} that this device has seen: perhaps a backup was restored. Nothing is written until you run "repertoire confirm" to follow it nevertheless.`;
    status.problem = message;
    log({ level: 'warn', message, code: 'registry_rewound' });
    if (readCondition(files).rewound?.cursor !== cursor) {
      changeCondition(files, { rewound: { at: now(), cursor, message } });
    }
    return false;
  }

  /** The devices that a ring woke pull at the same moment; their reports come after, and several passes make one. */
  function report(): void {
    unreported ??= setTimeout(tell, reportDelay);
  }

  function tell(): void {
    clearTimeout(unreported);
    unreported = undefined;
    if (!status.result || stopped) return;
    const sent = reporter.send({ cursor: mirror.cursor, folders: status.result.folders }, signal);
    reporting = sent.then(
      (failure) => {
        if (failure !== null) log({ level: 'warn', message: failure });
      },
      (error: unknown) => {
        if (!signal.aborted) log({ level: 'warn', message: String(error) });
      },
    );
  }

  return {
    ring(cursor) {
      const [epoch] = cursor.split(':');
      const known = mirror.cursor?.startsWith(`${epoch}:`) && !isBefore(mirror.cursor, cursor);
      if (!known) ask({ pull: true, rung: cursor, scope: new Set() });
    },
    full: () => ask({ pull: true, rung: null, scope: 'all' }),
    doubt() {
      doubts++;
    },
    hint: (items) => ask({ pull: false, rung: null, scope: new Set(items) }),
    async idle() {
      while (running) await running;
      if (unreported) tell();
      await reporting;
    },
    status,
    unpaired: ended.promise,
  };
}

function join(a: Asked, b: Asked): Asked {
  return {
    pull: a.pull || b.pull,
    rung: isBefore(a.rung, b.rung) ? b.rung : (a.rung ?? b.rung),
    scope: a.scope === 'all' || b.scope === 'all' ? 'all' : new Set([...a.scope, ...b.scope]),
  };
}

/** The message, with the item put before it where it does not name it. */
function naming(what: string, name: string, message: string): string {
  return message.includes(name) ? message : `${what}: ${message}`;
}
