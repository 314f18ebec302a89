import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { edit } from './edit.ts';
import { firstSync } from './first-sync.ts';
import { get } from './get.ts';
import { handshake } from './handshake.ts';
import { ridingGateway } from './riding-gateway.ts';
import { ridingWrapper } from './riding-wrapper.ts';
import type { Row, Scenario } from './scenario.ts';
import { formatTable, summarize } from './table.ts';

const SCENARIOS: readonly Scenario[] = [edit, handshake, get, ridingGateway, ridingWrapper, firstSync];
const INSTALLED = fileURLToPath(new URL('../../node_modules/skills/bin/cli.mjs', import.meta.url));

const only = new Option('--only <name>', 'one of the measurements').choices(
  SCENARIOS.map(({ name }) => name),
);
const program = new Command('npm run bench --')
  .description(
    'Measures Repertoire on this machine: medians and 95th percentiles, each beside what the same machine needs for the least that could do the same. No time changes the exit code.',
  )
  .addOption(only)
  .option('--rounds <number>', 'measurements of each row', parseRounds)
  .option('--skills-bin <file>', "bin/cli.mjs of the npm package skills, for first-sync's comparison")
  .option('--json', 'print the figures as JSON')
  .helpOption('--help', 'print this')
  .addHelpText(
    'after',
    `\nMeasurements:\n${SCENARIOS.map(({ name, about }) => `  ${name}: ${about}`).join('\n')}`,
  )
  .action(bench);
await program.parseAsync();

interface Flags {
  only?: string;
  rounds?: number;
  skillsBin?: string;
  json?: true;
}

async function bench({ only, rounds = undefined, skillsBin, json }: Flags): Promise<void> {
  const bin = skillsBin === undefined ? INSTALLED : resolve(skillsBin);
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-bench-'));
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const rows: Row[] = [];
  try {
    for (const scenario of SCENARIOS.filter(({ name }) => only === undefined || only === name)) {
      const options = { rounds: rounds ?? null, folder, skillsBin: existsSync(bin) ? bin : null, say };
      rows.push(...(await scenario.run(options)));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const summaries = rows.map(summarize);
  const machine = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
  };
  if (json) process.stdout.write(`${JSON.stringify({ machine, rows: summaries }, null, 2)}\n`);
  else {
    const about = SCENARIOS.filter(({ name }) => only === undefined || only === name).map(
      ({ name, about }) => `${name}: ${about}.`,
    );
    const { node, platform, cores } = machine;
    process.stdout.write(
      `${[`Node ${node}, ${platform}, ${cores} cores.`, '', formatTable(summaries), '', ...about].join('\n')}\n`,
    );
  }
}

function parseRounds(value: string): number {
  const rounds = Number(value);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new InvalidArgumentError('It is a whole number from 1 up.');
  return rounds;
}
