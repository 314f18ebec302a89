import type { AccountEvent } from '../../schema/account.ts';
import type { Database, Statement } from '../db/client.ts';
import { endGrant } from '../registry/applications.ts';
import {
  listRecords,
  type OAuthRecord,
  type RecordChange,
  readRecord,
  type Write,
  writeRecords,
} from '../registry/oauth-records.ts';

type ReadType = 'text' | 'json';

interface PutOptions {
  /** Seconds since the epoch. */
  readonly expiration?: number;
  /** Seconds from now. */
  readonly expirationTtl?: number;
  readonly metadata?: unknown;
}

interface Read {
  readonly record: OAuthRecord | null;
  readonly version: number;
}

const PAGE = 1000;
const GRANT = /^grant:([^:]+):([^:]+)$/;
/** A consent that waits is taken by one answer only. */
const TAKEN_ONCE = 'transaction:';

/**
 * Workers KV as the OAuth library uses it, over the registry's database, for one request:
 * - A key is read once, and every write to it insists on what was read: of two requests that redeem one code, or refresh
 *   with one token, one fails with `StaleRecordError`.
 * - Writes wait for `commit`, which stores all of them or none. A crash leaves a request done or not done.
 * - A grant that goes takes its tokens and its application with it.
 * As in KV, `list` need not show what was just written.
 */
export class OAuthStore {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #write: Write;
  readonly #read = new Map<string, Read>();
  readonly #changes = new Map<string, RecordChange>();

  constructor(db: Database, now: () => number, write: Write = (statements) => db.batch(statements)) {
    this.#db = db;
    this.#now = now;
    this.#write = write;
  }

  async get(key: string, options?: ReadType | { type?: ReadType }): Promise<unknown> {
    return (await this.getWithMetadata(key, options)).value;
  }

  async getWithMetadata(
    key: string,
    options?: ReadType | { type?: ReadType },
  ): Promise<{ value: unknown; metadata: unknown }> {
    const changed = this.#changes.get(key);
    const record = changed ? changed.record : (await this.#readOnce(key)).record;
    if (!record) return { value: null, metadata: null };
    const type = typeof options === 'string' ? options : options?.type;
    const { value, metadata } = record;
    return { value: type === 'json' ? JSON.parse(value) : value, metadata };
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<void> {
    const { expiration, expirationTtl, metadata = null } = options;
    const expiresAt =
      expiration !== undefined
        ? expiration * 1000
        : expirationTtl !== undefined
          ? this.#now() + expirationTtl * 1000
          : null;
    this.#changes.set(key, { key, record: { value, metadata, expiresAt }, ...this.#basis(key) });
  }

  /** Of a grant it holds whatever was written meanwhile: what is to end, ends. */
  async delete(key: string): Promise<void> {
    const basis = key.startsWith(TAKEN_ONCE) ? this.#basis(key) : {};
    this.#changes.set(key, { key, record: null, ...basis });
  }

  async list({
    prefix = '',
    limit = PAGE,
    cursor = '',
  }: {
    prefix?: string;
    limit?: number;
    cursor?: string | undefined;
  } = {}): Promise<{
    keys: { name: string; metadata?: unknown; expiration?: number }[];
    list_complete: boolean;
    cursor?: string;
  }> {
    const rows = await listRecords(this.#db, { prefix, after: cursor, limit: limit + 1, now: this.#now() });
    const page = rows.slice(0, limit);
    const keys = page.map(({ key, metadata, expiresAt }) => ({
      name: key,
      ...(metadata === null ? {} : { metadata }),
      ...(expiresAt === null ? {} : { expiration: Math.floor(expiresAt / 1000) }),
    }));
    const last = page.at(-1);
    return rows.length > limit && last
      ? { keys, list_complete: false, cursor: last.key }
      : { keys, list_complete: true };
  }

  /**
   * Stores what was written, in one transaction with `also`. `ended` is the event of each grant that goes; null for none.
   * @throws StaleRecordError when what was read is no longer so; nothing is stored then
   */
  async commit({
    also = [],
    ended = 'application_revoked',
  }: {
    also?: readonly Statement[];
    ended?: AccountEvent['type'] | null;
  } = {}): Promise<void> {
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    this.#read.clear();
    const endings = changes.flatMap(({ key, record }) => {
      const [, accountId = '', grant = ''] = GRANT.exec(key) ?? [];
      return record !== null || grant === ''
        ? []
        : endGrant(this.#db, { accountId, grant, at: this.#now(), event: ended });
    });
    await writeRecords(this.#db, this.#write, changes, [...endings, ...also]);
  }

  async #readOnce(key: string): Promise<Read> {
    const known = this.#read.get(key);
    if (known) return known;
    const read = await readRecord(this.#db, key, this.#now());
    this.#read.set(key, read);
    return read;
  }

  /** What was never read is written whatever is there. */
  #basis(key: string): { based?: number } {
    const version = this.#read.get(key)?.version;
    return version === undefined ? {} : { based: version };
  }
}
