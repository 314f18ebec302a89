import { runBridge } from '../../../agent/bridge/bridge.ts';

// `repertoire mcp` without the command line around it.
const { stdin, stdout, stderr, env, platform } = process;
await runBridge({
  stdin,
  stdout,
  stderr,
  env,
  home: env.HOME ?? '',
  platform: platform as 'linux',
  version: '0.0.0-test',
  // A busy machine is no registry that is away.
  timing: { read: 60_000 },
});
