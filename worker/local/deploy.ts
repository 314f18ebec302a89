import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@libsql/client/http';
import { Command } from 'commander';
import { openDatabase } from '../db/client.ts';
import { bootstrapAccount } from '../registry/bootstrap.ts';
import { makeOwnerLink, setupLink } from '../registry/links.ts';
import { ownerFile, secretKey, writeOwner } from './data-folder.ts';
import { migrateDatabase, NewerDatabaseError } from './migrate.ts';
import { StartError } from './start-error.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Options {
  data: string;
  dryRun?: boolean;
}

/**
 * Brings the database at DATABASE_URL up to date, deploys the Worker with its secrets, and on the first time makes the
 * account and keeps its token in `owner.json`.
 * @throws StartError when a variable is missing, or the database or wrangler refuses
 */
async function deploy(env: NodeJS.ProcessEnv, { data, dryRun = false }: Options): Promise<void> {
  if (dryRun) return void (await wrangler(['deploy', '--dry-run'], env));
  const { DATABASE_URL: url, DATABASE_AUTH_TOKEN: authToken } = env;
  if (!url || !authToken) {
    const missing = [url ? [] : 'DATABASE_URL', authToken ? [] : 'DATABASE_AUTH_TOKEN'].flat().join(' and ');
    throw new StartError(`${missing} must be set to your Turso database; see "Deploy" in README.md.`);
  }
  const client = createClient({ url, authToken });
  try {
    console.log('Bringing the database up to date …');
    await migrate(client);
    const origin = await upload(env, data, { DATABASE_URL: url, DATABASE_AUTH_TOKEN: authToken });
    const made = await bootstrapAccount(client, (token) => writeOwner(data, { url: origin, token }));
    if (made) console.log(`\nOwner token    ${ownerFile(data)}`);
    console.log(`MCP URL        ${origin}/mcp\nPair a device  repertoire pair ${origin}`);
    await sayOwnerLink(client, origin, env);
  } finally {
    client.close();
  }
}

/** Said while there is no passkey yet: afterwards moving to another host name locks everybody out. */
async function sayOwnerLink(
  client: ReturnType<typeof createClient>,
  origin: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const token = await makeOwnerLink(openDatabase(client), Date.now());
  if (token === null) return;
  const { hostname } = new URL(origin);
  console.log(
    `\nPasskeys belong to the host name ${hostname}. Who moves the registry to another one, such as from workers.dev to a domain\nof their own, has to make every passkey anew; so move first. The next step makes the first passkey.\n`,
  );
  // What a build service prints is kept, and read by others.
  const link = env.CI
    ? `run "npm run owner-link -- --url ${origin}" at a terminal`
    : setupLink(origin, token);
  console.log(
    `Owner link     ${link}\n               It works once, within an hour; "npm run owner-link" makes another.`,
  );
}

async function migrate(client: ReturnType<typeof createClient>): Promise<void> {
  try {
    await migrateDatabase(client, join(ROOT, 'migrations'));
  } catch (cause) {
    if (cause instanceof NewerDatabaseError) {
      throw new StartError(
        'The database is from a newer version of Repertoire; update this checkout to deploy it.',
        { cause },
      );
    }
    throw new StartError(
      `The database did not take the migrations (${cause instanceof Error ? cause.message : cause}); check DATABASE_URL and DATABASE_AUTH_TOKEN.`,
      { cause },
    );
  }
}

/** Secrets travel in a file that only this user reads and that is gone afterwards: never in arguments, which others can list. */
async function upload(
  env: NodeJS.ProcessEnv,
  data: string,
  database: Record<string, string>,
): Promise<string> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-deploy-'));
  try {
    const secrets = join(folder, 'secrets.json');
    const output = join(folder, 'output.ndjson');
    await writeFile(secrets, JSON.stringify({ ...database, SECRET_KEY: await secretKey(data) }), {
      mode: 0o600,
    });
    await wrangler(['deploy', '--secrets-file', secrets], { ...env, WRANGLER_OUTPUT_FILE_PATH: output });
    return deployedOrigin(await readFile(output, 'utf8'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where the Worker now answers, from the lines that wrangler writes for programs. */
function deployedOrigin(ndjson: string): string {
  for (const line of ndjson.split('\n').filter(Boolean)) {
    const entry = JSON.parse(line) as { type: string; targets?: string[] };
    const [target] = entry.type === 'deploy' ? (entry.targets ?? []) : [];
    if (target) return new URL(target.includes('://') ? target : `https://${target}`).origin;
  }
  throw new StartError(
    'The Worker was deployed without an address; give it a route or a workers.dev name in wrangler.toml.',
  );
}

async function wrangler(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const bin = join(
    createRequire(import.meta.url).resolve('wrangler/package.json'),
    '..',
    'bin',
    'wrangler.js',
  );
  const child = spawn(process.execPath, [bin, ...args], { cwd: ROOT, env, stdio: 'inherit' });
  const code = await new Promise<number | null>((done, failed) => child.on('error', failed).on('exit', done));
  if (code !== 0) throw new StartError(`wrangler ${args[0]} failed; its own message stands above.`);
}

const program = new Command('npm run deploy --')
  .description(
    'Deploy Repertoire to Cloudflare, with its registry in Turso (DATABASE_URL, DATABASE_AUTH_TOKEN).',
  )
  .option('--data <folder>', 'where the owner token and the secret key are kept', '.repertoire-deployed')
  .option('--dry-run', 'build and check without uploading anything')
  .action(async (options: Options) => {
    try {
      await deploy(process.env, { ...options, data: resolve(options.data) });
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    }
  });
await program.parseAsync();
