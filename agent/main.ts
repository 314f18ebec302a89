#!/usr/bin/env node
import { homedir, hostname } from 'node:os';
import type { Environment } from './cli/environment.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 12)) {
  process.stderr.write(
    `Repertoire needs Node 22.12 or newer, and this is ${process.version}; update Node.\n`,
  );
  process.exitCode = 1;
} else {
  void start();
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
    command: [process.execPath, ...process.execArgv, process.argv[1] as string],
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
