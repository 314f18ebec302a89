import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Call, compare, SIZES } from './riding.ts';
import { ridingSkills } from './riding-skills.ts';
import type { Scenario } from './scenario.ts';

const MAIN = fileURLToPath(new URL('../../agent/main.ts', import.meta.url));
const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

const NEWLINE = 0x0a;

export const ridingWrapper: Scenario = {
  name: 'riding-wrapper',
  about:
    'tools/list of server-everything on a pipe and through "repertoire serve", with so many skill files that have to do with it, for a client without a known cap',
  async run({ folder, rounds, say }) {
    const home = join(folder, 'riding-wrapper');
    const started: Program[] = [];
    const start = async (args: string[]) => {
      const program = new Program(args, home);
      started.push(program);
      await program.open();
      return program;
    };
    try {
      say('riding-wrapper: starting …');
      const through: [number, Call][] = [];
      for (const skills of SIZES) {
        const wrapper = await start([MAIN, 'serve', await writeManifest(home, skills)]);
        through.push([skills, () => wrapper.ask('tools/list')]);
      }
      const direct = await start([EVERYTHING]);
      return await compare({
        host: 'wrapper',
        direct: () => direct.ask('tools/list'),
        through: new Map(through),
        ping: () => (started[0] as Program).ask('ping'),
        least: null,
        rounds: rounds ?? 200,
        say,
      });
    } finally {
      for (const program of started) await program.close();
    }
  },
};

async function writeManifest(home: string, skills: number): Promise<string> {
  const own = join(home, `with-${skills}.skills`);
  await mkdir(own, { recursive: true });
  for (const [name, text] of ridingSkills(skills)) await writeFile(join(own, `${name}.md`), text);
  const path = join(home, `with-${skills}.yaml`);
  const manifest = { command: process.execPath, args: [EVERYTHING], skills: true };
  await writeFile(path, JSON.stringify(manifest));
  return path;
}

/** An MCP server on its pipes, of whose answers nothing is read but where they end. */
class Program {
  readonly #child: ChildProcess;
  #asked = 0;
  #answered: (line: Buffer) => void = () => {};

  constructor(args: string[], home: string) {
    const { PATH } = process.env;
    const env = { PATH, HOME: home, REPERTOIRE_STATE: join(home, 'state') };
    this.#child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    let first: Buffer | null = null;
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      first ??= chunk;
      if (chunk.at(-1) !== NEWLINE) return;
      const head = first;
      first = null;
      if (this.#answers(head, chunk)) this.#answered(head);
    });
  }

  async open(): Promise<void> {
    const client = { name: 'bench', version: '1' };
    await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: client });
    this.#send({ method: 'notifications/initialized' });
  }

  async ask(method: string, params: object = {}): Promise<void> {
    const answer = new Promise<Buffer>((resolve) => {
      this.#answered = resolve;
    });
    this.#send({ id: ++this.#asked, method, params });
    const told = await answer;
    if (told.includes('"error":{')) throw new Error(`${method} was answered: ${told}`);
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Servers also speak unasked. The id of an answer is among its first keys, or its last one. */
  #answers(first: Buffer, last: Buffer): boolean {
    const id = `"id":${this.#asked}`;
    return first.subarray(0, 100).includes(id) || last.subarray(-100).includes(id);
  }
}
