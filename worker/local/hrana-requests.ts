import { type DatabaseFile, type SqlArguments, SqlError, type SqlResult, type SqlValue } from './database.ts';

type WireValue =
  | { type: 'null' }
  | { type: 'integer'; value: string }
  | { type: 'float'; value: number }
  | { type: 'text'; value: string }
  | { type: 'blob'; base64: string };

interface SqlReference {
  sql?: string;
  sql_id?: number;
}

interface WireStatement extends SqlReference {
  args?: WireValue[];
  named_args?: { name: string; value: WireValue }[];
  want_rows?: boolean;
}

type Condition =
  | { type: 'ok' | 'error'; step: number }
  | { type: 'not'; cond: Condition }
  | { type: 'and' | 'or'; conds: Condition[] }
  | { type: 'is_autocommit' };

export type StreamRequest =
  | { type: 'execute'; stmt: WireStatement }
  | { type: 'batch'; batch: { steps: { condition?: Condition | null; stmt: WireStatement }[] } }
  | ({ type: 'sequence' } & SqlReference)
  | { type: 'store_sql'; sql_id: number; sql: string }
  | { type: 'close_sql'; sql_id: number }
  | { type: 'get_autocommit' | 'close' };

interface WireError {
  message: string;
  code: string;
}

/** SQL texts that a stream has stored, by the number that the client gave them. */
type StoredSql = Map<number, string>;

/** Answers one request of a stream whose stored SQL texts are in `stored`. An error of SQL is an answer too. */
export function answer(
  database: DatabaseFile,
  stored: StoredSql,
  request: StreamRequest,
): { type: 'ok'; response: { type: string } } | { type: 'error'; error: WireError } {
  const { type } = request;
  try {
    return { type: 'ok', response: { type, ...respond(database, stored, request) } };
  } catch (error) {
    return { type: 'error', error: toWireError(error) };
  }
}

function respond(database: DatabaseFile, stored: StoredSql, request: StreamRequest): object {
  switch (request.type) {
    case 'execute':
      return { result: execute(database, stored, request.stmt) };
    case 'batch':
      return { result: runBatch(database, stored, request.batch.steps) };
    case 'sequence':
      database.runScript(textOf(stored, request));
      return {};
    case 'store_sql':
      stored.set(request.sql_id, request.sql);
      return {};
    case 'close_sql':
      stored.delete(request.sql_id);
      return {};
    case 'get_autocommit':
      return { is_autocommit: !database.inTransaction };
    case 'close':
      return {};
    default:
      throw new SqlError('UNSUPPORTED_REQUEST', 'The type of the request is not supported');
  }
}

function runBatch(
  database: DatabaseFile,
  stored: StoredSql,
  steps: { condition?: Condition | null; stmt: WireStatement }[],
) {
  const results: (ReturnType<typeof execute> | null)[] = steps.map(() => null);
  const errors: (WireError | null)[] = steps.map(() => null);
  const holds = (condition: Condition): boolean => {
    switch (condition.type) {
      case 'ok':
        return results[condition.step] != null;
      case 'error':
        return errors[condition.step] != null;
      case 'not':
        return !holds(condition.cond);
      case 'and':
        return condition.conds.every(holds);
      case 'or':
        return condition.conds.some(holds);
      case 'is_autocommit':
        return !database.inTransaction;
    }
  };
  for (const [index, { condition, stmt }] of steps.entries()) {
    if (condition && !holds(condition)) continue;
    try {
      results[index] = execute(database, stored, stmt);
    } catch (error) {
      errors[index] = toWireError(error);
    }
  }
  return { step_results: results, step_errors: errors };
}

function execute(database: DatabaseFile, stored: StoredSql, statement: WireStatement) {
  const result = database.run(textOf(stored, statement), argumentsOf(statement));
  return toWire(result, statement.want_rows ?? true);
}

function textOf(stored: StoredSql, { sql, sql_id: id }: SqlReference): string {
  const text = sql ?? (id === undefined ? undefined : stored.get(id));
  if (text === undefined) throw new SqlError('SQL_NOT_STORED', 'The request names no SQL text that is known');
  return text;
}

function argumentsOf({ args = [], named_args: named = [] }: WireStatement): SqlArguments {
  if (named.length === 0) return args.map(fromWire);
  if (args.length > 0) {
    throw new SqlError(
      'ARGS_BOTH_POSITIONAL_AND_NAMED',
      'Arguments are either positional or named, not both',
    );
  }
  return Object.fromEntries(named.map(({ name, value }) => [name.replace(/^[:@$]/, ''), fromWire(value)]));
}

function fromWire(value: WireValue): SqlValue {
  switch (value.type) {
    case 'null':
      return null;
    case 'integer':
      return BigInt(value.value);
    case 'blob':
      return Buffer.from(value.base64, 'base64');
    default:
      return value.value;
  }
}

function toWire({ columns, rows, changes, lastInsertRowid }: SqlResult, wantRows: boolean) {
  return {
    cols: columns.map(({ name, type }) => ({ name, decltype: type })),
    rows: wantRows ? rows.map((row) => row.map(valueToWire)) : [],
    affected_row_count: changes,
    last_insert_rowid: String(lastInsertRowid),
  };
}

function valueToWire(value: SqlValue): WireValue {
  if (value === null) return { type: 'null' };
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) };
  if (typeof value === 'number') return { type: 'float', value };
  if (typeof value === 'string') return { type: 'text', value };
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return { type: 'blob', base64: bytes.toString('base64') };
}

function toWireError(error: unknown): WireError {
  if (!(error instanceof SqlError)) throw error;
  return { message: error.message, code: error.code };
}
