import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import Database from 'libsql';
import { LRUCache } from 'lru-cache';

/** What SQLite stores. Integers are bigint, so that a number is always a float. */
export type SqlValue = null | bigint | number | string | Uint8Array;
export type SqlArguments = SqlValue[] | Record<string, SqlValue>;

export interface SqlResult {
  readonly columns: readonly { name: string; type: string | null }[];
  readonly rows: readonly SqlValue[][];
  readonly changes: number;
  readonly lastInsertRowid: bigint;
}

/** An error of SQLite, or of a statement that is none. `code` is a primary SQLite code, or one of libSQL's server. */
export class SqlError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SqlError';
    this.code = code;
  }
}

const MOST_PREPARED = 200;

interface Prepared {
  readonly statement: Database.Statement;
  /** How many arguments it is run with, by position; null where they are by name. */
  readonly positions: number | null;
}

/** Has the operating system put on the disk what was written to an open file. */
export type SyncFile = (fd: number) => Promise<void>;

/**
 * The one connection to a database file, and the lock on it: while it is open no other process, and no other
 * connection of this one, can open the file. The lock is the operating system's and ends with the process.
 * A committed transaction survives power loss once `durable` has resolved. Every other call is synchronous, so nothing
 * runs between two of them.
 */
export class DatabaseFile {
  readonly #db: Database.Database;
  readonly #sync: SyncFile;
  readonly #prepared = new LRUCache<string, Prepared>({ max: MOST_PREPARED });
  #log = -1;
  /** Something was written since the last commit that was counted. */
  #touched = false;
  #commits = 0;
  #synced = 0;
  #syncing: Promise<void> | null = null;

  /** @throws SqlError `SQLITE_BUSY` when the file is open elsewhere, `SQLITE_CANTOPEN`, `SQLITE_NOTADB`. */
  constructor(path: string, sync: SyncFile = promisify(fdatasync)) {
    this.#sync = sync;
    this.#db = translate(() => new Database(path));
    try {
      this.run('PRAGMA locking_mode = EXCLUSIVE');
      this.run('PRAGMA journal_mode = WAL');
      // FULL would sync the log in each commit, one after another, and hold up everything meanwhile; `durable` does it.
      this.run('PRAGMA synchronous = NORMAL');
      this.run('PRAGMA foreign_keys = ON');
      this.run('BEGIN EXCLUSIVE');
      this.run('COMMIT');
      this.#log = openSync(`${path}-wal`, 'r+');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  /** Runs exactly one statement. Missing arguments are NULL. */
  run(sql: string, args: SqlArguments = []): SqlResult {
    refuseSeveral(sql);
    return translate(() => {
      const statement = this.#prepare(sql, args);
      this.#touched ||= statement.reader ? RETURNING.test(sql) : !BOUNDARY.test(sql);
      if (!statement.reader) {
        const { changes, lastInsertRowid } = statement.run(args as unknown[]);
        return { columns: [], rows: [], changes, lastInsertRowid: BigInt(lastInsertRowid) };
      }
      const columns = statement.columns().map(({ name, type }) => ({ name, type }));
      const before = this.#counters(sql);
      const rows = statement.raw(true).all(args as unknown[]) as SqlValue[][];
      const after = this.#counters(sql);
      return {
        columns,
        rows,
        changes: Number(after.changes - before.changes),
        lastInsertRowid: after.lastInsertRowid,
      };
    });
  }

  // The same few statements run over and over, and preparing one takes about as long as running it.
  #prepare(sql: string, args: SqlArguments): Database.Statement {
    // A statement goes on telling the columns of the schema that it was prepared for.
    if (SCHEMA.test(sql)) this.#prepared.clear();
    const positions = Array.isArray(args) ? args.length : null;
    const known = this.#prepared.get(sql);
    // What is missing would be what was there the last time.
    if (known?.positions === positions) return known.statement;
    const statement = this.#db.prepare(sql).safeIntegers(true);
    this.#prepared.set(sql, { statement, positions });
    return statement;
  }

  /** Runs any number of statements, without arguments or results. */
  runScript(sql: string): void {
    this.#touched = true;
    this.#prepared.clear();
    translate(() => this.#db.exec(sql));
  }

  rollback(): void {
    if (this.#db.inTransaction) this.run('ROLLBACK');
  }

  /**
   * Resolves once everything committed before this call survives power loss: at once when that is so already. Commits
   * that come while the disk is busy share the next sync.
   */
  async durable(): Promise<void> {
    if (this.#touched && !this.inTransaction) {
      this.#touched = false;
      this.#commits++;
    }
    const commits = this.#commits;
    while (this.#synced < commits) {
      this.#syncing ??= this.#syncLog();
      await this.#syncing;
    }
  }

  async #syncLog(): Promise<void> {
    const commits = this.#commits;
    try {
      await this.#sync(this.#log);
      this.#synced = Math.max(this.#synced, commits);
    } finally {
      this.#syncing = null;
    }
  }

  /** Leaves one file, without a write-ahead log beside it. */
  close(): void {
    this.rollback();
    // Closing alone keeps the lock until the last prepared statement is garbage collected.
    this.run('PRAGMA journal_mode = DELETE');
    this.run('PRAGMA locking_mode = NORMAL');
    this.run('SELECT count(*) FROM sqlite_master');
    this.#db.close();
    this.#synced = this.#commits;
    const log = this.#log;
    const closeLog = () => closeSync(log);
    if (this.#syncing) void this.#syncing.then(closeLog, closeLog);
    else closeLog();
  }

  // The driver tells counts only of statements without rows; RETURNING has both.
  #counters(sql: string): { changes: bigint; lastInsertRowid: bigint } {
    if (!RETURNING.test(sql)) return { changes: 0n, lastInsertRowid: 0n };
    const statement = this.#prepare('SELECT total_changes(), last_insert_rowid()', []);
    const [row] = statement.raw(true).all() as [[bigint, bigint]];
    return { changes: row[0], lastInsertRowid: row[1] };
  }
}

const RETURNING = /\breturning\b/i;
/** Statements that change the schema, or take back a change of it. */
const SCHEMA = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(create|alter|drop|rollback)\b/i;
/** Statements that only open or close a transaction. */
const BOUNDARY = /^\s*(begin|commit|end|rollback)\b/i;

const LITERAL_OR_COMMENT =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

// SQLite would prepare the first statement and drop the others without a word; libSQL's server refuses.
function refuseSeveral(sql: string): void {
  if (!sql.includes(';')) return;
  const bare = sql.replace(LITERAL_OR_COMMENT, ' ').trim();
  if (/^create\s+(temp\w*\s+)?trigger\b/i.test(bare)) return;
  if (/;\s*[^\s;]/.test(bare)) {
    throw new SqlError('SQL_MANY_STATEMENTS', 'SQL string contains more than one statement');
  }
}

function translate<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    if (error.code === 'SQLITE_OK') {
      throw new SqlError('SQL_NO_STATEMENT', 'SQL string contains no statement', { cause: error });
    }
    // Every primary code is SQLITE_ and one word; extended codes add more words. The server sends primary ones.
    const code = error.code.split('_', 2).join('_');
    throw new SqlError(code, `SQLite error: ${error.message}`, { cause: error });
  }
}
