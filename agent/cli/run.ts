import type { Command } from 'commander';
import type { AgentOptions, AgentStatus, Ended } from '../daemon.ts';
import { ask } from '../instance.ts';
import type { LogLine } from '../sync.ts';
import { VERSION } from '../version.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { CommandFailed } from './failure.ts';
import { counted } from './text.ts';

interface RunFlags {
  once?: true;
  json?: true;
}

/** `run`: the agent that keeps this computer as the registry wishes. */
export function addRunCommand(program: Command, cli: Cli): void {
  const run = withJson(command(program, 'run', 'keep the folders on this computer up to date'))
    .option('--once', 'sync once and end')
    .action((flags: RunFlags) => (flags.once ? syncOnce(cli, flags) : runAgent(cli, flags)));
  examples(run, 'run', 'run --once', 'run --json >> agent.log');
}

async function runAgent(cli: Cli, { json }: RunFlags): Promise<void> {
  const { output, paths } = cli;
  const { runDaemon } = await import('../daemon.ts');
  const log = (line: LogLine) =>
    json ? output.json({ at: new Date().toISOString(), ...line }, { lines: true }) : logLine(cli, line);
  const ended = await runDaemon(options(cli, log));
  if (ended.ended === 'busy') {
    const running = (await ask(paths.instance, { type: 'status' })) as AgentStatus | null;
    throw new CommandFailed(`The agent runs already${running ? ` (process ${running.pid})` : ''}.`);
  }
  sayEnd(cli, ended);
}

async function syncOnce(cli: Cli, { json }: RunFlags): Promise<void> {
  const { output, paths } = cli;
  const { runOnce } = await import('../daemon.ts');
  const noted = new Set<string>();
  const log = ({ level, message, action }: LogLine) => {
    // What became of single items is counted below; there may be hundreds.
    if (level !== 'warn' || action !== undefined || noted.has(message)) return;
    noted.add(message);
    output.note(message);
  };
  const ended = await runOnce(options(cli, log));
  if (ended.ended === 'unpaired') cli.failed = true;
  if (ended.ended !== 'done' && ended.ended !== 'busy') return sayEnd(cli, ended);
  const status =
    ended.ended === 'done'
      ? ended.status
      : ((await ask(paths.instance, { type: 'sync' })) as AgentStatus | null);
  if (!status) throw new CommandFailed('The agent ended just now; try again.');
  const { folders = [], failed = 0 } = status.result ?? {};
  const broken = folders.filter(({ state }) => state === 'failed');
  if (!status.online || status.problem !== null || broken.length + failed > 0) cli.failed = true;
  if (json) return output.json(status);
  if (ended.ended === 'busy' && status.problem !== null) output.note(status.problem);
  const done = Map.groupBy(status.result?.events ?? [], ({ action }) => action);
  const count = (action: string) => done.get(action as 'wrote')?.length ?? 0;
  const parts = [
    [count('wrote'), 'written'],
    [count('adopted'), 'adopted'],
    [count('removed'), 'removed'],
    [count('held_back') + count('changed_here'), 'held back'],
    [failed, 'failed'],
  ] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`);
  const what = said.length > 0 ? said.join(', ') : 'nothing to do';
  const kept = counted(folders.length - broken.length, 'folder');
  if (!status.online) {
    output.line(`Kept ${kept} as last known, for the registry cannot be reached: ${what}.`);
  } else output.line(status.problem === null ? `Synced ${kept}: ${what}.` : 'Not synced.');
  if (failed + count('held_back') + count('changed_here') > 0) output.note('"repertoire status" says why.');
}

function options({ environment, paths }: Cli, log: (line: LogLine) => void): AgentOptions {
  const { env, home, platform } = environment;
  return { paths, machine: { env, home, platform }, version: VERSION, log, signal: environment.onStop() };
}

/** Why a pairing ended was said when it was found. */
function sayEnd({ output }: Cli, { ended }: Ended): void {
  if (ended === 'unpaired') {
    output.note('The agent ends; every file stays. "repertoire pair URL" pairs again.');
  } else output.note('The agent has ended.');
}

function logLine({ output }: Cli, { level, message }: LogLine): void {
  const time = new Date().toTimeString().slice(0, 8);
  output.note(`${output.style.dim(time)} ${level === 'warn' ? output.style.yellow(message) : message}`);
}
