import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Confirmation } from '../../schema/api.ts';
import { type Cli, type ConnectionFlags, examples, registryCommand, withConfirm, withJson } from './cli.ts';
import { CommandFailed } from './failure.ts';
import { openSession } from './session.ts';

interface GuidelinesFlags extends ConnectionFlags {
  set?: string;
  confirm?: Confirmation[];
  json?: true;
}

/** `guidelines`: what every client is told before the list of items. */
export function addGuidelinesCommand(program: Command, cli: Cli): void {
  const guidelines = withConfirm(
    withJson(
      registryCommand(program, 'guidelines', 'print your guidelines, which every client is told'),
    ).option('--set <file>', 'take them from a file, or from the input with -'),
  ).action((flags: GuidelinesFlags) => runGuidelines(cli, flags));
  examples(guidelines, 'guidelines', 'guidelines --set guidelines.md', 'guidelines --set - < notes.txt');
}

async function runGuidelines(
  cli: Cli,
  { set, confirm, json, ...connection }: GuidelinesFlags,
): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  if (set === undefined) {
    const guidelines = await registry.guidelines();
    if (json) return output.json(guidelines);
    if (guidelines.text === '')
      return output.note('There are no guidelines; "repertoire guidelines --set FILE" sets some.');
    return output.terminal
      ? output.line(guidelines.text.replace(/\n$/, ''))
      : output.bytes(Buffer.from(guidelines.text));
  }
  const written = await registry.setGuidelines({
    text: await readInput(cli, set),
    ...(confirm && { confirm }),
  });
  if (json) return output.json(written);
  output.line(written.text === '' ? 'The guidelines are empty now.' : 'The guidelines are set.');
}

/** The text of a file, or of the input for `-`, byte for byte. */
export async function readInput({ environment }: Cli, file: string): Promise<string> {
  const content =
    file === '-' ? await text(environment.stdin) : readFileSync(resolve(environment.cwd, file), 'utf8');
  if (content.includes('\u0000') || content.includes('\uFFFD')) {
    throw new CommandFailed(
      `${file === '-' ? 'The input' : file} is no UTF-8 text; save it as UTF-8 and try again.`,
    );
  }
  return content;
}
