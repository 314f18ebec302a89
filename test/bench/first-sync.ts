import { type SpawnOptions, spawn } from 'node:child_process';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { pair } from '../../agent/pairing.ts';
import { platformPaths } from '../../agent/platform.ts';
import { stateFiles } from '../../agent/state.ts';
import { startChild } from './child.ts';
import { CORPUS, corpusSkills, hasCorpus } from './fill.ts';
import type { RegistryOrder, RegistryReady } from './registry.ts';
import { type Row, type Scenario, timed } from './scenario.ts';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const FOLDERS = ['.claude/skills', '.agents/skills'];

export const firstSync: Scenario = {
  name: 'first-sync',
  about:
    'the corpus\'s skills to a new device: "repertoire run --once" as a program, after pairing, to two folders',
  async run({ folder, rounds, skillsBin, say }) {
    if (!hasCorpus) {
      say('first-sync: skipped, for ../shared/corpus is not there.');
      return [];
    }
    say('first-sync: building the command and filling a registry with the corpus …');
    const program = join(folder, 'repertoire.cjs');
    await run('npm', ['run', '--silent', 'build', '--', `--outfile=${program}`], { cwd: REPOSITORY });
    const order: RegistryOrder = { data: join(folder, 'first-sync'), accounts: [{ corpus: true }] };
    const registry = await startChild<RegistryReady>('registry.ts', order);
    try {
      const skills = (await corpusSkills()).length;
      const beside =
        skillsBin === null ? null : { what: 'skills add --copy, local folder', ms: [] as number[] };
      if (!beside)
        say('first-sync: nothing beside it, for the package "skills" is not installed; see --skills-bin.');
      const row: Row = { name: `first sync of ${skills} skills`, ms: [], beside, bar: { times: 1 } };
      const count = rounds ?? 5;
      for (let round = 0; round < count; round++) {
        say(`first-sync: round ${round + 1} of ${count}`);
        const ours = await newHome(folder);
        await pairHome(ours, registry.ready);
        row.ms.push(await timed(() => node([program, 'run', '--once'], ours)));
        await requireAll(ours, skills);
        if (!beside || skillsBin === null) continue;
        const theirs = await newHome(folder);
        const flags = ['--global', '--yes', '--copy', '--skill', '*', '--agent', 'claude-code', 'codex'];
        beside.ms.push(await timed(() => node([skillsBin, 'add', CORPUS, ...flags], theirs)));
        await requireAll(theirs, skills);
      }
      return [row];
    } finally {
      await registry.stop();
    }
  },
};

async function newHome(folder: string): Promise<string> {
  const home = join(folder, 'home');
  await rm(home, { recursive: true, force: true });
  for (const client of ['.claude', '.codex']) await mkdir(join(home, client), { recursive: true });
  return home;
}

function stateOf(home: string): string {
  return join(home, '.state');
}

async function pairHome(home: string, { url, tokens }: RegistryReady): Promise<void> {
  const { platform } = process;
  const { state } = platformPaths({ platform, env: { REPERTOIRE_STATE: stateOf(home) }, home });
  await pair({ files: stateFiles(state), url, name: 'bench', platform, approveWith: tokens[0], onCode() {} });
}

async function requireAll(home: string, skills: number): Promise<void> {
  for (const folder of FOLDERS) {
    const files = await readdir(join(home, folder), { recursive: true });
    const there = files.filter((path) => basename(path) === 'SKILL.md').length;
    if (there !== skills) throw new Error(`${folder} holds ${there} of ${skills} skills.`);
  }
}

function node(args: readonly string[], home: string): Promise<void> {
  const { PATH } = process.env;
  const env = {
    PATH,
    HOME: home,
    USERPROFILE: home,
    REPERTOIRE_STATE: stateOf(home),
    DISABLE_TELEMETRY: '1',
  };
  return run(process.execPath, args, { env, cwd: home });
}

async function run(program: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')));
  const code = await new Promise((ended, failed) => child.once('exit', ended).once('error', failed));
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${(await said).join('').slice(-500)}`);
}
