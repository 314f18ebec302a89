import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@libsql/client/http';
import { type Database, openDatabase } from '../db/client.ts';
import { bootstrapAccount } from '../registry/bootstrap.ts';
import { hasOwner, makeOwnerLink, setupLink } from '../registry/links.ts';
import { ownerFile, secretKey, writeOwner } from './data-folder.ts';
import { migrateDatabase, NewerDatabaseError } from './migrate.ts';
import { StartError } from './start-error.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface DeployOptions {
  /** Folder of the owner token and the secret key. */
  readonly data: string;
  readonly dryRun?: boolean;
}

type Wrangler = (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<void>;

const HOME =
  'Passkeys belong to the host name at which they are made. Who moves the registry to another one, such as from workers.dev\nto a domain of their own, has to make every passkey anew';

/**
 * Brings the database at DATABASE_URL up to date, deploys the Worker with its secrets, and on the first time makes the
 * account and keeps its token in `owner.json`.
 * @throws StartError when a variable is missing, or the database or wrangler refuses
 */
export async function deploy(
  env: NodeJS.ProcessEnv,
  { data, dryRun = false }: DeployOptions,
  { wrangler = runWrangler, say = console.log }: { wrangler?: Wrangler; say?: (text: string) => void } = {},
): Promise<void> {
  if (dryRun) return wrangler(['deploy', '--dry-run'], env);
  const { DATABASE_URL: url, DATABASE_AUTH_TOKEN: authToken } = env;
  if (!url || !authToken) {
    const missing = [url ? [] : 'DATABASE_URL', authToken ? [] : 'DATABASE_AUTH_TOKEN'].flat().join(' and ');
    throw new StartError(`${missing} must be set to your Turso database; see "Deploy" in README.md.`);
  }
  const client = createClient({ url, authToken });
  try {
    say('Bringing the database up to date …');
    await migrate(client);
    const db = openDatabase(client);
    const owned = await hasOwner(db);
    // Where it goes is settled with the upload; afterwards a move locks everybody out.
    if (!owned) say(`\n${HOME}: to have one, name it in wrangler.toml before you deploy.\n`);
    const secrets = { DATABASE_URL: url, DATABASE_AUTH_TOKEN: authToken };
    const origin = await upload(wrangler, env, { data, secrets });
    const made = await bootstrapAccount(client, (token) => writeOwner(data, { url: origin, token }));
    if (made) say(`\nOwner token    ${ownerFile(data)}`);
    say(`MCP URL        ${origin}/mcp\nPair a device  repertoire pair ${origin}`);
    if (!owned) {
      say(`\n${HOME}. This one is at ${new URL(origin).hostname}.\n`);
      say(`Owner link     ${await ownerLink(db, origin, env)}`);
    }
  } finally {
    client.close();
  }
}

async function ownerLink(db: Database, origin: string, env: NodeJS.ProcessEnv): Promise<string> {
  // What a build service prints is kept, and read by others.
  const token = env.CI ? null : await makeOwnerLink(db, Date.now());
  return token === null
    ? `run "npm run owner-link -- --url ${origin}" at a terminal`
    : `${setupLink(origin, token)}\n               It works once, within an hour; "npm run owner-link" makes another.`;
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
  wrangler: Wrangler,
  env: NodeJS.ProcessEnv,
  { data, secrets }: { data: string; secrets: Record<string, string> },
): Promise<string> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-deploy-'));
  try {
    const file = join(folder, 'secrets.json');
    const output = join(folder, 'output.ndjson');
    const text = JSON.stringify({ ...secrets, SECRET_KEY: await secretKey(data) });
    await writeFile(file, text, { mode: 0o600 });
    await wrangler(['deploy', '--secrets-file', file], { ...env, WRANGLER_OUTPUT_FILE_PATH: output });
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

async function runWrangler(...[args, env]: Parameters<Wrangler>): Promise<void> {
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
