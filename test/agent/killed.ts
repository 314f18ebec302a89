import { runOnce } from '../../agent/daemon.ts';
import { platformPaths } from '../../agent/platform.ts';

/** Runs the agent once in a process of its own, which dies without a word at the given change to the disk. */
const [home = '', at = '0'] = process.argv.slice(2);
const env = { REPERTOIRE_STATE: `${home}/state` };
let changes = 0;
await runOnce({
  paths: platformPaths({ platform: 'linux', env, home }),
  machine: { env, home, platform: 'linux' },
  version: '0.0.0-test',
  log: () => {},
  signal: new AbortController().signal,
  step() {
    if (++changes === Number(at)) process.kill(process.pid, 'SIGKILL');
  },
});
