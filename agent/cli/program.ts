import { type Argument, Command, CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import { addAddCommand } from './add.ts';
import { addBridgeCommands } from './bridge.ts';
import { type Cli, createCli } from './cli.ts';
import { addConfirmCommand } from './confirm.ts';
import { addDeviceCommands } from './devices.ts';
import { addEditCommand } from './edit.ts';
import type { Environment } from './environment.ts';
import { sentence, WrongUsage } from './failure.ts';
import { addGuidelinesCommand } from './guidelines.ts';
import { addHistoryCommand } from './history.ts';
import { addItemCommands } from './items.ts';
import { createOutput } from './output.ts';
import { addPairCommands } from './pair.ts';
import { addResolveCommand } from './resolve.ts';
import { addRunCommand } from './run.ts';
import { addServeCommand } from './serve.ts';
import { addSkillsCommand } from './skills.ts';
import { addStateCommands } from './state.ts';
import { addStatusCommand } from './status.ts';

/** Runs one command and gives its exit code: 0 done, 1 failed, 2 called in a way that it does not have. Never throws. */
export async function run(environment: Environment, args: readonly string[]): Promise<0 | 1 | 2> {
  const output = createOutput(environment);
  try {
    const cli = createCli(environment);
    await createProgram(cli).parseAsync(args, { from: 'user' });
    return cli.failed ? 1 : 0;
  } catch (error) {
    // Commander has said what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    output.note(output.wrapped(sentence(error)));
    if (environment.env.REPERTOIRE_DEBUG === '1' && error instanceof Error) output.note(stackOf(error));
    return error instanceof WrongUsage ? 2 : 1;
  }
}

function createProgram(cli: Cli): Command {
  const { output } = cli;
  const program = new Command('repertoire')
    .description('Your skills and personas, in every AI client, on every device.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .helpCommand(false)
    .configureHelp({
      helpWidth: Math.min(output.width, 100),
      subcommandTerm: (command) =>
        `${command.name()}${command.registeredArguments.map(argumentTerm).join('')}`,
    })
    .configureOutput({
      writeOut: (text) => output.line(text.replace(/\n$/, '')),
      writeErr: (text) => output.note(text.replace(/\n$/, '')),
      outputError: (text, write) => write(output.wrapped(usageSentence(text))),
    })
    .exitOverride()
    .showHelpAfterError('"repertoire --help" and "repertoire COMMAND --help" say more.');
  program.commandsGroup('This computer:');
  addPairCommands(program, cli);
  addRunCommand(program, cli);
  addStatusCommand(program, cli);
  addResolveCommand(program, cli);
  addConfirmCommand(program, cli);
  addBridgeCommands(program, cli);
  addServeCommand(program, cli);
  addSkillsCommand(program, cli);
  program.commandsGroup('Skills and personas:');
  addItemCommands(program, cli);
  addAddCommand(program, cli);
  addEditCommand(program, cli);
  addStateCommands(program, cli);
  addHistoryCommand(program, cli);
  addGuidelinesCommand(program, cli);
  program.commandsGroup('Your devices and clients:');
  addDeviceCommands(program, cli);
  return program;
}

function argumentTerm(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? ` <${name}>` : ` [${name}]`;
}

/** Commander's words as a sentence like the others: "error: unknown command 'lst'", a suggestion on the next line. */
function usageSentence(text: string): string {
  const words = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\n\((.*)\?\)$/, '; $1?')
    .replace('; Did', '; did');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.?]$/.test(words) ? '' : '.'}`;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}
