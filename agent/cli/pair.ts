import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { RegistryError } from '../../schema/errors.ts';
import { Unpaired } from '../http.ts';
import { stopAgent } from '../instance.ts';
import { type PairingCode, pair } from '../pairing.ts';
import { forgetDevice, readCondition, readDevice } from '../state.ts';
import { type Cli, command, examples, parseUrl, withJson } from './cli.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { qrCode } from './qr-code.ts';
import { openSession, readTokenFile } from './session.ts';

interface PairFlags {
  name?: string;
  tokenFile?: string;
  json?: true;
}

/** `pair` and `unpair`: this computer and its registry. */
export function addPairCommands(program: Command, cli: Cli): void {
  const pairing = withJson(command(program, 'pair', 'pair this computer with a registry'))
    .argument('[url]', "the registry's address; with --token-file the file has it", parseUrl)
    .option('--name <name>', 'what to call this computer; its host name unless given')
    .option('--token-file <file>', "approve at once with the owner's token, such as owner.json")
    .action((url: string | undefined, flags: PairFlags) => pairDevice(cli, url, flags));
  examples(
    pairing,
    'pair https://repertoire.example.com',
    'pair http://127.0.0.1:8787 --name laptop',
    'pair --token-file .repertoire/owner.json',
  );

  const unpair = command(program, 'unpair', 'end the pairing of this computer; its files stay')
    .option('--forget', 'only forget it here, where the registry cannot be reached')
    .action((flags: { forget?: true }) => unpairDevice(cli, flags));
  examples(unpair, 'unpair');
}

async function pairDevice(
  cli: Cli,
  given: string | undefined,
  { name, tokenFile, json }: PairFlags,
): Promise<void> {
  const { environment, output, state } = cli;
  const { platform, architecture, hostname, cwd } = environment;
  const owner = tokenFile === undefined ? null : readTokenFile(resolve(cwd, tokenFile));
  const url = given ?? owner?.url;
  if (url === undefined) throw new WrongUsage('Name the address of the registry: repertoire pair URL.');
  // Without its key a device is no device any more.
  if (readCondition(state).unpaired || !existsSync(state.key)) forgetDevice(state);
  // An agent of an earlier pairing would go on with what it has in mind.
  if (!readDevice(state)) await stopAgent(cli.paths.instance);
  const signal = environment.onStop();
  try {
    const paired = await pair({
      files: state,
      url,
      name: name ?? hostname,
      platform: `${platform} ${architecture}`,
      onCode: (code) => (owner ? undefined : showCode(cli, code)),
      approveWith: owner?.token,
      signal,
    });
    if (json) return output.json({ url: new URL(url).origin, ...paired });
    output.line(`Paired with ${new URL(url).host} as ${paired.name}.`);
    output.note('"repertoire run" keeps this computer up to date from now on.');
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandFailed('Pairing was stopped before it was approved; nothing was changed.', {
      cause: error,
    });
  }
}

function showCode({ environment, output }: Cli, { code, link, fingerprint, expires_in }: PairingCode): void {
  const { bold } = output.style;
  output.note('Approve this computer:');
  output.note('');
  output.note(`  Code         ${bold(code)}`);
  output.note(`  Link         ${link}`);
  output.note(`  Fingerprint  ${bold(fingerprint)}`);
  output.note('');
  const qr = environment.stderr.isTTY ? qrCode(link) : null;
  if (qr !== null) output.note(`${qr}\n`);
  output.note('The side that approves shows the same four words; if they differ, deny it.');
  output.note(`Without a browser: repertoire approve ${code} --token-file owner.json`);
  output.note(`Waiting for approval, at most ${Math.round(expires_in / 60)} minutes. Ctrl-C stops.`);
}

async function unpairDevice(cli: Cli, { forget }: { forget?: true }): Promise<void> {
  const { output, state, paths } = cli;
  const device = readDevice(state);
  if (!device) throw new CommandFailed('This computer is not paired, so there is nothing to end.');
  const host = new URL(device.url).host;
  const only = forget || !existsSync(state.key);
  if (!only) {
    try {
      const { registry } = await openSession(cli, {});
      await registry.revoke('self');
    } catch (error) {
      if (error instanceof RegistryError && error.code === 'unavailable') {
        throw new CommandFailed(
          `${error.message} The pairing stays until then; --forget forgets it here, and "repertoire revoke ${device.name}" elsewhere ends it there.`,
          { cause: error },
        );
      }
      if (!(error instanceof Unpaired)) throw error;
    }
  }
  await stopAgent(paths.instance);
  forgetDevice(state);
  output.line(`This computer is no longer paired with ${host}. Every file stays where it is.`);
  if (only) output.note(`The registry still knows it: end it there with "repertoire revoke ${device.name}".`);
}
