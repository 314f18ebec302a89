import { type OwnerLinkOptions, ownerLink } from './owner-access.ts';
import { localProgram } from './program.ts';
import { StartError } from './start-error.ts';

const program = localProgram(
  'npm run -s owner-link --',
  'Makes a link that lets the owner in once, within an hour: to make the first passkey, or, where there is one, a further one for who has lost theirs. Takes DATABASE_URL and DATABASE_AUTH_TOKEN, as for the deployment.',
)
  .option('--url <origin>', 'address at which the registry is opened (the deployed one)')
  .option('--account <name>', 'name or id of the account to let into (the first one)')
  .option('--data <folder>', 'folder of a registry on this machine, running or not, in place of DATABASE_URL')
  .action(async (options: OwnerLinkOptions) => {
    try {
      process.stdout.write(`${await ownerLink(process.env, options)}\n`);
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    }
  });
await program.parseAsync();
