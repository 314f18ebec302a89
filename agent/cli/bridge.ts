import type { Command } from 'commander';
import { CLIENT_NAMES, findClient } from '../connect/target.ts';
import { VERSION } from '../version.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { WrongUsage } from './failure.ts';

interface ConnectFlags {
  dryRun?: true;
  undo?: true;
  wslDistro?: string;
  json?: true;
}

/** `mcp` and `connect`: AI clients on this computer. */
export function addBridgeCommands(program: Command, cli: Cli): void {
  const { environment } = cli;
  const mcp = command(program, 'mcp', 'serve MCP on stdin and stdout, for a client on this computer').action(
    async () => {
      const { runBridge } = await import('../bridge/bridge.ts');
      await runBridge({ ...environment, version: VERSION });
    },
  );
  examples(mcp, 'mcp');

  const connect = withJson(command(program, 'connect', 'add Repertoire to a client on this computer'))
    .argument('<client>', CLIENT_NAMES.join(', '))
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--undo', 'take out again what was added')
    .option('--wsl-distro <name>', 'the WSL distribution that this client serves')
    .action(async (client: string, { json, ...flags }: ConnectFlags) => {
      if (!findClient(client)) {
        throw new WrongUsage(
          `${client} is no client that can be connected; it is one of ${CLIENT_NAMES.join(', ')}.`,
        );
      }
      const { connectClient } = await import('../connect/connect.ts');
      const { env, home, platform, command: start } = environment;
      const result = connectClient({ ...flags, client, env, home, platform, command: start });
      if (json) return cli.output.json(result);
      if (result.diff !== '') cli.output.line(result.diff);
      cli.output.line(flags.dryRun ? `${result.path}: nothing was written.` : result.message);
    });
  examples(connect, 'connect claude-code', 'connect codex --dry-run', 'connect cursor --undo');
}
