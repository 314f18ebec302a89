import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { type Local, startLocal } from '../../../worker/local/serve.ts';

// Each test runs the command many times; how long that takes says nothing about it.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The program as `npm run build` makes it: it starts three times as fast as the sources. */
export async function buildProgram(folder: string): Promise<string> {
  const program = join(folder, 'repertoire.cjs');
  // npm is a script on Windows, which takes a shell to run.
  const shell = process.platform === 'win32';
  await promisify(execFile)('npm', ['run', 'build', '--', `--outfile=${program}`], { cwd: ROOT, shell });
  return program;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string | Buffer;
  env?: Record<string, string>;
  cwd?: string;
}

/** One computer of a person: a home folder of its own, and the command run in it as a child process. */
export class Computer {
  readonly home: string;
  readonly #children = new Set<ChildProcess>();

  /** Program that is run. */
  readonly program: string;

  constructor(folder: string, name: string, program: string) {
    this.home = join(folder, name);
    this.program = program;
    mkdirSync(this.home, { recursive: true });
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const started = this.start(args, options);
    started.child.stdin?.end(options.input ?? '');
    return started.ended;
  }

  /** As {@link run}, and gives its JSON; fails the test unless it ends with 0. */
  async json<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options);
    if (code !== 0) throw new Error(`repertoire ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Starts a command that goes on. `saw` waits until its output holds a text. */
  start(args: readonly string[], { env = {}, cwd = this.home }: RunOptions = {}) {
    const child = spawn(process.execPath, [this.program, ...args], { cwd, env: this.env(env) });
    this.#children.add(child);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => {});
    const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
    const ended = once(child, 'close').then(([code]): Ran => {
      this.#children.delete(child);
      return { code: code as number | null, stdout: text(out), stderr: text(err) };
    });
    const saw = async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(text(out) + text(err));
        if (match) return match;
        const more = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), ended]);
        if ((await more) === (await Promise.race([ended, null]))) {
          throw new Error(`ended without ${pattern}: ${text(out)}${text(err)}`);
        }
      }
    };
    return { child, ended, saw };
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.home,
      USERPROFILE: this.home,
      REPERTOIRE_STATE: join(this.home, 'state'),
      NODE_NO_WARNINGS: '1',
      ...more,
    };
  }

  /** Writes files below the home folder. */
  write(files: Record<string, string | Uint8Array>): void {
    for (const [path, content] of Object.entries(files)) {
      const full = join(this.home, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, content);
    }
  }

  end(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}

/** A real registry on this machine and computers to use it from, all below one folder of their own. */
export class Setting {
  readonly folder = mkdtempSync(join(tmpdir(), 'cli-'));
  readonly #computers: Computer[] = [];
  #local: Local | null = null;

  #program = '';

  /** Makes the program. */
  async ready(): Promise<void> {
    this.#program ||= await buildProgram(this.folder);
  }

  /** Starts the registry, on the port that it had before if it ran already. */
  async startRegistry(port = 0): Promise<void> {
    await this.ready();
    this.#local = await startLocal({ port, data: join(this.folder, 'data') });
  }

  async stopRegistry(): Promise<void> {
    await this.#local?.stop();
    this.#local = null;
  }

  get url(): string {
    return (this.#local as Local).url;
  }

  get ownerFile(): string {
    return join(this.folder, 'data', 'owner.json');
  }

  computer(name: string): Computer {
    const computer = new Computer(this.folder, name, this.#program);
    this.#computers.push(computer);
    return computer;
  }

  /** A computer that is paired, with Claude Code on it. */
  async paired(name: string): Promise<Computer> {
    const computer = this.computer(name);
    mkdirSync(join(computer.home, '.claude'));
    const { code, stderr } = await computer.run(['pair', '--token-file', this.ownerFile, '--name', name]);
    if (code !== 0) throw new Error(`pairing failed: ${stderr}`);
    return computer;
  }

  async end(): Promise<void> {
    for (const computer of this.#computers) computer.end();
    await this.stopRegistry();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function skill(name: string, description = `Use for ${name}.`, body = `# ${name}\n`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`;
}
