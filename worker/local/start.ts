import { relative } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { runDemo } from './demo.ts';
import { localProgram } from './program.ts';
import { type Local, startLocal } from './serve.ts';
import { StartError } from './start-error.ts';

interface Flags {
  port: number;
  data: string;
  json?: true;
  allowLoopback?: boolean;
  demo?: true;
}

const COMMAND = 'npm run -s repertoire --';

const program = localProgram(
  'npm start --',
  'Runs Repertoire on this machine: database, migrations and the Worker.',
)
  .option('--port <number>', 'port on 127.0.0.1', parsePort, 8787)
  .option('--data <folder>', 'folder of everything that is kept', '.repertoire')
  .option('--allow-loopback', 'let MCP servers on this machine be added, for development')
  .option('--json', 'print what a script needs as one line of JSON')
  .option('--demo', 'show the whole way once with two throw-away devices, then stop')
  .action(run);

// A reader that has seen enough, such as `head`, is no reason to leave children behind.
process.stdout.on('error', () => undefined);
await program.parseAsync();

async function run({ port, data, json, demo, allowLoopback = false }: Flags): Promise<void> {
  let local: Local;
  try {
    if (!demo && process.stderr.isTTY) process.stderr.write('Starting …\n');
    if (demo) return await runDemo((line) => process.stdout.write(`${line}\n`));
    local = await startLocal({ port, data, allowLoopback, log: (line) => process.stderr.write(`${line}\n`) });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  stopOnSignals(local);
  const said = json ? JSON.stringify(facts(local)) : summary(local, await local.makeOwnerLink());
  process.stdout.write(`${said}\n`);
}

function stopOnSignals(local: Local): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Miniflare's handlers end the process before the database is closed.
    process.removeAllListeners(signal);
    process.once(signal, () => {
      // Impatience still passes through the exit hook that takes workerd along.
      process.once(signal, () => process.exit(1));
      void local.stop();
    });
  }
}

/** Without the owner link: what a script reads ends in logs. */
function facts({ url, ownerFile }: Local) {
  return { url, mcp: `${url}/mcp`, pair: `${COMMAND} pair ${url}`, owner_file: ownerFile };
}

function summary(local: Local, ownerLink: string | null): string {
  const { mcp, pair, owner_file: file } = facts(local);
  const strong = (text: string) =>
    process.stdout.isTTY && !process.env.NO_COLOR ? `\u001b[1m${text}\u001b[22m` : text;
  const owner = local.ownerToken
    ? relative('.', file) || file
    : `${file} is gone; its token cannot be shown again`;
  const link = ownerLink
    ? ['  Make it yours, with a passkey; the link works once, within an hour:', `  ${strong(ownerLink)}`, '']
    : [];
  return [
    '',
    `${strong('Repertoire')} is running. Ctrl-C stops it.`,
    '',
    ...link,
    `  MCP URL      ${strong(mcp)}`,
    `  Owner token  ${owner}`,
    '',
    '  Pair this computer, in a second terminal:',
    `  ${strong(local.ownerToken ? `${COMMAND} pair --token-file ${owner}` : pair)}`,
    '',
  ].join('\n');
}

function parsePort(value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535)
    throw new InvalidArgumentError('It is a number from 0 to 65535.');
  return port;
}
