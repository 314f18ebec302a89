import Database from 'libsql';

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

/**
 * The one connection to a database file, and the lock on it: while it is open no other process, and no other
 * connection of this one, can open the file. The lock is the operating system's and ends with the process.
 * A committed transaction survives power loss. Every call is synchronous, so nothing runs between two of them.
 */
export class DatabaseFile {
  readonly #db: Database.Database;

  /** @throws SqlError `SQLITE_BUSY` when the file is open elsewhere, `SQLITE_CANTOPEN`, `SQLITE_NOTADB`. */
  constructor(path: string) {
    this.#db = translate(() => new Database(path));
    try {
      this.run('PRAGMA locking_mode = EXCLUSIVE');
      this.run('PRAGMA journal_mode = WAL');
      // NORMAL would fsync at checkpoints only: 0.05 ms a commit instead of 0.6, but power loss takes the last ones back.
      this.run('PRAGMA synchronous = FULL');
      this.run('PRAGMA foreign_keys = ON');
      this.run('BEGIN EXCLUSIVE');
      this.run('COMMIT');
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
      const statement = this.#db.prepare(sql).safeIntegers(true);
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

  /** Runs any number of statements, without arguments or results. */
  runScript(sql: string): void {
    translate(() => this.#db.exec(sql));
  }

  rollback(): void {
    if (this.#db.inTransaction) this.run('ROLLBACK');
  }

  /** Leaves one file, without a write-ahead log beside it. */
  close(): void {
    this.rollback();
    // Closing alone keeps the lock until the last prepared statement is garbage collected.
    this.run('PRAGMA journal_mode = DELETE');
    this.run('PRAGMA locking_mode = NORMAL');
    this.run('SELECT count(*) FROM sqlite_master');
    this.#db.close();
  }

  // The driver tells counts only of statements without rows; RETURNING has both.
  #counters(sql: string): { changes: bigint; lastInsertRowid: bigint } {
    if (!/\breturning\b/i.test(sql)) return { changes: 0n, lastInsertRowid: 0n };
    const statement = this.#db.prepare('SELECT total_changes(), last_insert_rowid()').safeIntegers(true);
    const [row] = statement.raw(true).all() as [[bigint, bigint]];
    return { changes: row[0], lastInsertRowid: row[1] };
  }
}

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
