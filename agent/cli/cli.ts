import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Confirmation } from '../../schema/api.ts';
import { Kind } from '../../schema/item.ts';
import { type PlatformPaths, platformPaths } from '../platform.ts';
import { type StateFiles, stateFiles } from '../state.ts';
import type { Environment } from './environment.ts';
import { createOutput, type Output } from './output.ts';

/** What every command gets. */
export interface Cli {
  readonly environment: Environment;
  readonly output: Output;
  /** Where the agent of this user keeps its things. */
  readonly paths: PlatformPaths;
  readonly state: StateFiles;
  /** Ends with exit code 1 although nothing was thrown. */
  failed: boolean;
}

export function createCli(environment: Environment): Cli {
  const paths = platformPaths(environment);
  return {
    environment,
    output: createOutput(environment),
    paths,
    state: stateFiles(paths.state),
    failed: false,
  };
}

export interface ConnectionFlags {
  url?: string;
  tokenFile?: string;
}

/** Adds a command that talks to the registry. */
export function registryCommand(program: Command, usage: string, description: string): Command {
  return command(program, usage, description)
    .option('--url <url>', "registry to talk to, instead of this device's", parseUrl)
    .option('--token-file <file>', 'file with url and token, such as owner.json, instead of the device');
}

/** Adds a command. */
export function command(program: Command, usage: string, description: string): Command {
  return program.command(usage).description(description);
}

export function withJson(to: Command): Command {
  return to.option('--json', 'print data as JSON');
}

export function withKind(to: Command, what = 'which one, where both have the name'): Command {
  return to.addOption(new Option('--kind <kind>', what).choices(Kind.options));
}

/** For matches that the credential check asks about: the owner's word that they are no secret. */
export function withConfirm(to: Command): Command {
  return to.option(
    '--confirm <rule:match>',
    'what a refusal named is no secret (needs a token that may confirm)',
    (value: string, before: Confirmation[] = []) => [...before, parseConfirmation(value)],
  );
}

/** Puts examples under a command's help. */
export function examples(to: Command, ...lines: string[]): Command {
  return to.addHelpText(
    'after',
    ['', 'Examples:', ...lines.map((line) => `  repertoire ${line}`)].join('\n'),
  );
}

export function parseUrl(value: string): string {
  const url = URL.parse(value);
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It is a web address, such as https://repertoire.example.com.');
  }
  return url.origin;
}

function parseConfirmation(value: string): Confirmation {
  const [, rule, match] = /^(.+):([0-9a-f]{64})$/.exec(value) ?? [];
  if (rule === undefined || match === undefined) {
    throw new InvalidArgumentError('It is what the refusal printed after --confirm.');
  }
  return { rule, match };
}

export function parseRevision(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value))
    throw new InvalidArgumentError('It is the number of a revision, 1 or more.');
  return Number(value);
}
