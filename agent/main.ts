#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Environment } from './cli/environment.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const BROUGHT = join('..', 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const script = process.argv[1] as string;
const recent = major > 22 || (major === 22 && minor >= 12);
const brought = recent ? '' : join(dirname(realpathSync(script)), BROUGHT);

if (recent) void start();
else if (existsSync(brought)) handOver(brought);
else {
  process.stderr.write(
    `Repertoire needs Node 22.12 or newer, and this is ${process.version}; update Node.\n`,
  );
  process.exitCode = 1;
}

/** The command that `npm install -g .` links is started by whichever Node is in PATH; the checkout has a recent one. */
function handOver(node: string): void {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  // The terminal sends these to the child as well, which ends in its own time.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  child.once('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

async function start(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader, such as `head`, has had enough.
      process.exit(error.code === 'EPIPE' ? 0 : 1);
    });
  }
  // Loaded only now, since an older Node cannot even link what the command is made of.
  const { run } = await import('./cli/program.ts');
  process.exitCode = await run(environment(), process.argv.slice(2));
  // A prompt or a pooled connection must not keep the process; what is written to a pipe still has to leave.
  process.stdin.unref?.();
}

function environment(): Environment {
  const { platform } = process;
  return {
    env: process.env,
    home: homedir(),
    platform: platform === 'win32' || platform === 'darwin' ? platform : 'linux',
    hostname: hostname(),
    architecture: process.arch,
    command: [process.execPath, ...process.execArgv, script],
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    onStop,
  };
}

function onStop(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      stop.abort();
      process.once(signal, () => process.exit(1));
    });
  }
  return stop.signal;
}
