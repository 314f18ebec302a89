import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { type AgentOptions, runDaemon, runOnce } from '../../agent/daemon.ts';
import { ask } from '../../agent/instance.ts';
import { pair } from '../../agent/pairing.ts';
import { platformPaths } from '../../agent/platform.ts';
import { Registry } from '../../agent/registry.ts';
import { stateFiles } from '../../agent/state.ts';
import type { LogLine } from '../../agent/sync.ts';
import { type Local, startLocal } from '../../worker/local/serve.ts';

export function freshFolder(name = 'agent'): string {
  const folder = mkdtempSync(join(tmpdir(), `repertoire-${name}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The real Worker on a database of its own, for one test file. */
export async function startRegistry(): Promise<{ local: Local; owner: Registry }> {
  const data = mkdtempSync(join(tmpdir(), 'repertoire-registry-'));
  const local = await startLocal({ port: 0, data });
  afterAll(async () => {
    await local.stop();
    rmSync(data, { recursive: true, force: true });
  });
  const token = local.ownerToken as string;
  return { local, owner: new Registry({ url: local.url, credentials: { type: 'bearer', token } }) };
}

/** A computer with a home folder of its own. */
export class TestDevice {
  readonly home: string;
  readonly options: AgentOptions;
  readonly log: LogLine[] = [];
  readonly #local: Local;
  #stop = new AbortController();
  #run: ReturnType<typeof runDaemon> | null = null;

  private constructor(local: Local, clients: string[], more: Partial<AgentOptions>) {
    this.#local = local;
    this.home = freshFolder('home');
    for (const client of clients) mkdirSync(join(this.home, client), { recursive: true });
    const env = { REPERTOIRE_STATE: join(this.home, 'state') };
    this.options = {
      paths: platformPaths({ platform: 'linux', env, home: this.home }),
      machine: { env, home: this.home, platform: 'linux' },
      version: '0.0.0-test',
      log: (line) => this.log.push(line),
      signal: this.#stop.signal,
      // A timer that a test waits for would hide a ring that was lost.
      interval: 3_600_000,
      ...more,
    };
    onTestFinished(() => this.stop().then(() => {}));
  }

  static async pair(
    local: Local,
    clients = ['.claude'],
    more: Partial<AgentOptions> = {},
  ): Promise<TestDevice> {
    const device = new TestDevice(local, clients, more);
    await device.pair();
    return device;
  }

  pair(url = this.#local.url) {
    return pair({
      files: this.files,
      url,
      name: 'test',
      platform: 'linux',
      onCode: () => {},
      approveWith: this.#local.ownerToken as string,
    });
  }

  get files() {
    return stateFiles(this.options.paths.state);
  }

  path(...parts: string[]): string {
    return join(this.home, ...parts);
  }

  /** One pass, with its outcome. */
  async once() {
    const outcome = await runOnce({ ...this.options, signal: new AbortController().signal });
    if (outcome.ended !== 'done') throw new Error(`ended: ${JSON.stringify(outcome)}`);
    return outcome.status;
  }

  /** Starts the daemon and waits until it listens and has synced. */
  async start(): Promise<void> {
    this.#stop = new AbortController();
    this.#run = runDaemon({ ...this.options, signal: this.#stop.signal });
    await until(() => this.log.some(({ message }) => message === 'Listening for changes.'));
  }

  /** Waits until the daemon has nothing to do. */
  async idle(): Promise<void> {
    await ask(this.options.paths.instance, { type: 'sync' });
  }

  /** How the daemon ended. */
  get ended() {
    if (!this.#run) throw new Error('not started');
    return this.#run;
  }

  async stop() {
    this.#stop.abort();
    return this.#run;
  }
}

/** Waits until something holds. The test's own timeout is the only deadline. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
