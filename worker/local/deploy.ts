import { resolve } from 'node:path';
import { type DeployOptions, deploy } from './deployment.ts';
import { localProgram } from './program.ts';
import { StartError } from './start-error.ts';

const program = localProgram(
  'npm run deploy --',
  'Deploys Repertoire to Cloudflare, with its registry in Turso. Takes DATABASE_URL and DATABASE_AUTH_TOKEN.',
)
  .option('--data <folder>', 'where the owner token and the secret key are kept', '.repertoire-deployed')
  .option('--dry-run', 'build and check without uploading anything')
  .action(async (options: DeployOptions) => {
    try {
      await deploy(process.env, { ...options, data: resolve(options.data) });
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    }
  });
await program.parseAsync();
