import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from '@libsql/client/http';
import {
  convertV4MiniflareOptions,
  type Response as LocalResponse,
  Log,
  LogLevel,
  Miniflare,
  MiniflareCoreError,
} from 'miniflare';
import { parse } from 'smol-toml';
import { openDatabase } from '../db/client.ts';
import { bootstrapAccount } from '../registry/bootstrap.ts';
import { makeOwnerLink, setupLink } from '../registry/links.ts';
import { browserOrigin } from './browser-origin.ts';
import { bundleWorker } from './bundle.ts';
import { databaseFile, ownerFile, readOwner, secretKey, writeOwner } from './data-folder.ts';
import { SqlError } from './database.ts';
import { type DatabaseService, serveDatabase } from './database-service.ts';
import { createHrana, type Hrana } from './hrana.ts';
import { migrateDatabase, NewerDatabaseError } from './migrate.ts';
import { endOrphan, noteWorkerd } from './orphan.ts';
import { type PlacedLog, placeInSources } from './source-places.ts';
import { StartError } from './start-error.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface LocalOptions {
  /** 0 takes any free port. */
  port: number;
  /** Folder of everything that is kept. Made when absent. */
  data: string;
  /** What the Worker writes to its console. */
  log?: (line: string) => void;
  /** Lets MCP servers on this machine be added, and the Worker fetch from its loopback addresses. */
  allowLoopback?: boolean;
  /** In place of the network that the Worker fetches from. */
  network?: (request: Request) => Promise<Response>;
  entry?: string;
  migrations?: string;
  bootstrap?: (client: Client, keep: (token: string) => Promise<void>) => Promise<unknown>;
}

export interface Local {
  /** Origin, without a slash at the end. */
  readonly url: string;
  readonly ownerFile: string;
  /** Null when the account is older than this run and its file is gone. */
  readonly ownerToken: string | null;
  /** A link that makes whoever opens it the owner; older ones are dead. Null when there is an owner. */
  makeOwnerLink(): Promise<string | null>;
  stop(): Promise<void>;
}

/**
 * Starts everything on this machine: database file, migrations, the Worker in workerd on 127.0.0.1. The first run
 * makes the account and writes its token to `owner.json`.
 * @throws StartError with one sentence when that cannot be; nothing is left running then.
 */
export async function startLocal(options: LocalOptions): Promise<Local> {
  const data = resolve(options.data);
  const hrana = openHrana(await databaseFile(data), data);
  const client = createClient({ url: 'http://libsql', fetch: hrana.fetch });
  let worker: Miniflare | null = null;
  let log: PlacedLog | null = null;
  let forget: (() => void) | null = null;
  let service: DatabaseService | null = null;
  const stop = async (): Promise<void> => {
    try {
      await worker?.dispose();
      await log?.written();
      forget?.();
    } finally {
      service?.close();
      client.close();
      hrana.close();
    }
  };
  try {
    await endOrphan(data);
    await bringUpToDate(client, options.migrations ?? join(ROOT, 'migrations'), data);
    forget = noteWorkerd(data);
    service = await serveDatabase(hrana, data);
    const wrangler = await wranglerSettings();
    const entry = options.entry ?? join(ROOT, wrangler.main);
    const code = await bundleWorker(entry);
    if (options.log) log = placeInSources(options.log, { entry, code });
    const key = await secretKey(data);
    worker = new Miniflare(workerOptions(options, { wrangler, code, log, hrana, service, key }));
    const url = (await ready(worker, options.port)).origin;
    await (options.bootstrap ?? bootstrapAccount)(client, (token) => writeOwner(data, { url, token }));
    const kept = await readOwner(data);
    if (kept && kept.url !== url) await writeOwner(data, { ...kept, url });
    return {
      url,
      ownerFile: ownerFile(data),
      ownerToken: kept?.token ?? null,
      makeOwnerLink: async () => {
        const token = await makeOwnerLink(openDatabase(client), Date.now());
        return token && setupLink(browserOrigin(url), token);
      },
      stop,
    };
  } catch (error) {
    // Disposing of a Worker that never got ready rejects with the reason that is thrown here anyway.
    await stop().catch(() => undefined);
    throw databaseProblem(error, data) ?? error;
  }
}

function openHrana(file: string, data: string): Hrana {
  try {
    return createHrana({ file });
  } catch (cause) {
    if (!(cause instanceof SqlError)) throw cause;
    throw (
      databaseProblem(cause, data) ??
      new StartError(
        `${file} cannot be opened for writing; choose another folder with --data, or repair its permissions.`,
        { cause },
      )
    );
  }
}

/** What SQLite says of the file, wherever in an error's causes; null where it says nothing that a person could mend. */
function databaseProblem(error: unknown, data: string): StartError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    switch ('code' in cause && cause.code) {
      case 'SQLITE_BUSY':
        return new StartError(
          `Repertoire is already running on ${data}; stop it first, or choose another --data.`,
          { cause },
        );
      case 'SQLITE_NOTADB':
      case 'SQLITE_CORRUPT':
        return new StartError(
          `${join(data, 'registry.db')} is no readable database; put back a copy from a backup.`,
          { cause },
        );
      case 'SQLITE_FULL':
        return new StartError(`The disk of ${data} is full; make room on it and start again.`, { cause });
    }
  }
  return null;
}

async function bringUpToDate(client: Client, migrations: string, data: string): Promise<void> {
  try {
    await migrateDatabase(client, migrations);
  } catch (cause) {
    if (!(cause instanceof NewerDatabaseError)) throw cause;
    throw new StartError(
      `The database in ${data} is from a newer version of Repertoire; update this one to use it.`,
      {
        cause,
      },
    );
  }
}

async function ready(worker: Miniflare, port: number): Promise<URL> {
  try {
    await worker.ready;
    return await worker.unsafeGetDirectURL();
  } catch (cause) {
    if (!(cause instanceof MiniflareCoreError)) throw cause;
    if (cause.code === 'ERR_ADDRESS_IN_USE') {
      throw new StartError(
        `Port ${port} is in use; choose another with --port, or stop what listens there.`,
        { cause },
      );
    }
    throw new StartError(`The Worker did not start on port ${port}: ${cause.message}`, { cause });
  }
}

interface WranglerSettings {
  name: string;
  main: string;
  compatibility_date: string;
  compatibility_flags: string[];
  durable_objects: { bindings: { name: string; class_name: string }[] };
}

async function wranglerSettings(): Promise<WranglerSettings> {
  return parse(await readFile(join(ROOT, 'wrangler.toml'), 'utf8')) as never;
}

function workerOptions(
  { network, ...options }: LocalOptions,
  {
    wrangler,
    code,
    log,
    hrana,
    service,
    key,
  }: {
    wrangler: WranglerSettings;
    code: string;
    log: PlacedLog | null;
    hrana: Hrana;
    service: DatabaseService | null;
    key: string;
  },
) {
  const compatibility = {
    modules: true,
    compatibilityDate: wrangler.compatibility_date,
    compatibilityFlags: wrangler.compatibility_flags,
  };
  const elsewhere = {
    network: {
      allow: options.allowLoopback ? ['public', 'local'] : ['public'],
      tlsOptions: { trustBrowserCas: true },
    },
  };
  // Miniflare types its own Request and Response; they are the platform's in all that counts here.
  const faked =
    network && ((request: unknown) => network(request as Request) as never as Promise<LocalResponse>);
  return convertV4MiniflareOptions({
    host: '127.0.0.1',
    // Without these two Miniflare calls home.
    cf: false,
    telemetry: { enabled: false },
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: ({ message }) => log?.write(message),
    workers: [
      {
        ...compatibility,
        name: wrangler.name,
        // Straight to the Worker: Miniflare's own door in front of it would compress every answer, and cost a hop.
        unsafeDirectSockets: [{ host: '127.0.0.1', port: options.port }],
        script: code,
        durableObjects: Object.fromEntries(
          wrangler.durable_objects.bindings.map(({ name, class_name: className }) => [
            name,
            { className, useSQLite: true },
          ]),
        ),
        bindings: { SECRET_KEY: key, ...(options.allowLoopback ? { LOOPBACK_SERVERS: '1' } : {}) },
        serviceBindings: {
          // What is called by every request of some clients, without the worker that `fetch` takes its way through.
          NETWORK: faked ?? elsewhere,
          LIBSQL: service
            ? { external: { address: service.address, http: {} } }
            : (request) => hrana.fetch(request as never) as never as Promise<LocalResponse>,
        },
        outboundService: faked ?? 'outbound',
      },
      {
        ...compatibility,
        name: 'outbound',
        script: 'export default { fetch: (request, env) => env.NETWORK.fetch(request) };',
        serviceBindings: {
          NETWORK: elsewhere,
        },
      },
    ],
  });
}
