import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { createClient } from '@libsql/client/http';
import { type Database, openDatabase } from '../db/client.ts';
import { accounts } from '../db/tables/registry.ts';
import { makeOwnerLink, makeRecoveryLink, setupLink } from '../registry/links.ts';
import { browserOrigin } from './browser-origin.ts';
import { databaseFile, readOwner } from './data-folder.ts';
import { SqlError } from './database.ts';
import { createHrana } from './hrana.ts';
import { StartError } from './start-error.ts';

export interface OwnerLinkOptions {
  data?: string;
  url?: string;
  account?: string;
}

interface Opened {
  readonly db: Database;
  readonly origin: string | null;
  close(): void;
}

const DEPLOYED = '.repertoire-deployed';

/**
 * A link that lets its owner in: the first passkey while there is none, else one more for the account named, which is the
 * way back for who has lost theirs. Whoever can write to the database may have it.
 * @throws StartError when the database cannot be reached or has no such account
 */
export async function ownerLink(env: NodeJS.ProcessEnv, options: OwnerLinkOptions): Promise<string> {
  const { db, origin, close } = await open(env, options);
  try {
    const base = originOf(options.url ?? origin);
    const token =
      (options.account === undefined ? await makeOwnerLink(db, Date.now()) : null) ??
      (await makeRecoveryLink(db, Date.now(), await accountOf(db, options.account)));
    return setupLink(base, token);
  } catch (cause) {
    throw cause instanceof StartError ? cause : new StartError(failure(options), { cause });
  } finally {
    close();
  }
}

async function open(env: NodeJS.ProcessEnv, { data }: OwnerLinkOptions): Promise<Opened> {
  if (data !== undefined) return openLocal(resolve(data));
  const { DATABASE_URL: url, DATABASE_AUTH_TOKEN: authToken } = env;
  if (!url) {
    throw new StartError(
      'DATABASE_URL must be set to the database of the registry, or --data to the folder of a local one.',
    );
  }
  const client = createClient({ url, ...(authToken ? { authToken } : {}) });
  const kept = await readOwner(resolve(DEPLOYED));
  return { db: openDatabase(client), origin: kept?.url ?? null, close: () => client.close() };
}

/** The file itself, or, while the registry runs and holds it alone, the socket of the process that has it. */
async function openLocal(data: string): Promise<Opened> {
  const kept = await readOwner(data);
  if (!kept) throw new StartError(`There is no registry in ${data}; name its folder with --data.`);
  const origin = browserOrigin(kept.url);
  try {
    const hrana = createHrana({ file: await databaseFile(data) });
    const client = createClient({ url: 'http://libsql', fetch: hrana.fetch });
    const close = () => {
      client.close();
      hrana.close();
    };
    return { db: openDatabase(client), origin, close };
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    const client = createClient({ url: 'http://libsql', fetch: throughSocket(join(data, 'database.sock')) });
    return { db: openDatabase(client), origin, close: () => client.close() };
  }
}

function throughSocket(socketPath: string): typeof fetch {
  return async (input, init) => {
    const { method, url, headers, body } = new Request(input, init);
    const sent = body === null ? '' : await new Response(body).text();
    return new Promise((done, failed) => {
      const path = new URL(url).pathname;
      const call = request({ socketPath, method, path, headers: Object.fromEntries(headers) }, (answer) => {
        text(answer).then(
          (content) => done(new Response(content, { status: answer.statusCode ?? 500 })),
          failed,
        );
      });
      call.on('error', failed);
      call.end(sent);
    });
  };
}

async function accountOf(db: Database, named: string | undefined): Promise<string> {
  const rows = await db
    .select({ id: accounts.id, name: accounts.name })
    .from(accounts)
    .orderBy(accounts.createdAt, accounts.id);
  if (named === undefined && rows[0]) return rows[0].id;
  const [match, ...more] = rows.filter(({ id, name }) => id === named || name === named);
  if (match && more.length === 0) return match.id;
  const list = rows.map(({ id, name }) => `${name} (${id})`).join(', ');
  throw new StartError(
    match
      ? `Several accounts are called ${named}; name one by its id: ${list}.`
      : `There is no account ${named ?? ''}; there are: ${list}.`,
  );
}

/** @throws StartError unless it is an origin at which a browser makes passkeys */
function originOf(url: string | null): string {
  if (url !== null && URL.canParse(url)) {
    const { origin, protocol, hostname } = new URL(url);
    if (protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost')) return origin;
  }
  throw new StartError(
    'Say with --url at which address the registry is opened, such as --url https://registry.example: passkeys are for that host name.',
  );
}

/** What fails by itself is the database: not reached, not allowed, or without the tables of this version. */
function failure({ data }: OwnerLinkOptions): string {
  return data === undefined
    ? 'The database did not do what was asked; check DATABASE_URL and DATABASE_AUTH_TOKEN, and that "npm run deploy" of this version has run.'
    : `The database in ${data} did not do what was asked; start this version once with "npm start -- --data ${data}".`;
}
