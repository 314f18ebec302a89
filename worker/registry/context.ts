import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { Scope } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Author } from '../../schema/item.ts';
import type { Database, Statement } from '../db/client.ts';
import { devices, deviceTokens, tokens } from '../db/tables.ts';
import { type Proof, proofError, proofStatement } from './proof.ts';

/** Who calls, once the database has confirmed it. */
export interface Actor {
  readonly type: Author['type'];
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  readonly scopes: readonly Scope[];
}

/** What a request claims to be, proven as far as that goes without the database. */
export type Claim =
  | { readonly type: 'token'; readonly hash: string }
  | {
      readonly type: 'device';
      readonly tokenHash: string;
      readonly proof: Proof;
    };

/** What the registry tells the push room. The only port out of the core. */
export type Notify = (
  event: { accountId: string; cursor: string } | { accountId: string; revoked: string },
) => Promise<void>;

export interface Surroundings {
  readonly db: Database;
  readonly now: () => number;
  readonly notify: Notify;
  /** Lets work go on after the answer has left. */
  readonly defer: (work: Promise<unknown>) => void;
}

const DEVICE_SCOPES: readonly Scope[] = ['skills:read', 'skills:write'];

/**
 * What every verb gets: the database and the caller. The caller's credentials are looked up in the same batch as the
 * verb's first query, so a read costs one round trip. Until then `account` is a sub-query that yields nothing for a
 * credential that does not hold, and `actor` is not to be had.
 */
export class Context {
  readonly db: Database;
  readonly now: () => number;
  readonly #around: Surroundings;
  readonly #claim: Claim;
  #actor: Actor | null = null;
  /** MCP client name for the author line, where the call came through one. */
  client: string | undefined;

  constructor(around: Surroundings, claim: Claim) {
    this.db = around.db;
    this.now = around.now;
    this.#around = around;
    this.#claim = claim;
  }

  /** Account of the caller, for use in a statement. */
  get account(): SQL<string> {
    if (this.#actor) return sql`${this.#actor.accountId}`;
    return this.#claim.type === 'token'
      ? sql`(select ${tokens.accountId} from ${tokens} where ${this.#tokenHolds(this.#claim)})`
      : sql`(select ${devices.accountId} from ${deviceTokens} inner join ${devices} on ${devices.id} = ${deviceTokens.deviceId} where ${this.#deviceHolds(this.#claim)})`;
  }

  /** Id of the calling device for use in a statement; null where the caller is none. */
  get device(): SQL<string> | null {
    if (this.#claim.type !== 'device') return null;
    if (this.#actor) return sql`${this.#actor.id}`;
    return sql`(select ${devices.id} from ${deviceTokens} inner join ${devices} on ${devices.id} = ${deviceTokens.deviceId} where ${this.#deviceHolds(this.#claim)})`;
  }

  /** The caller. Only after the first batch. */
  get actor(): Actor {
    if (!this.#actor) throw new RegistryError('internal', 'The caller was asked for before the first query.');
    return this.#actor;
  }

  get author(): Author {
    const { type, id, name } = this.actor;
    return this.client === undefined ? { type, id, name } : { type, id, name, client: this.client };
  }

  /**
   * Runs statements as one transaction in one round trip. The first call also proves the caller.
   * @throws RegistryError `unauthorized` when the credentials do not hold or the proof was seen before
   */
  async batch<U extends Statement, T extends Readonly<[U, ...U[]]>>(
    statements: T,
  ): Promise<BatchResponse<T>> {
    if (this.#actor) return this.db.batch(statements);
    const entry = this.#entryStatements();
    let results: unknown[];
    try {
      results = await this.db.batch([...entry, ...statements] as unknown as [Statement]);
    } catch (error) {
      throw proofError(error);
    }
    this.#actor = this.#readActor((results[entry.length - 1] as WhoRow[])[0]);
    return results.slice(entry.length) as BatchResponse<T>;
  }

  /** Proves the caller on its own: for verbs that have nothing to read first. */
  async enter(): Promise<Actor> {
    if (!this.#actor) await this.batch([this.db.select({ one: sql`1` }).from(sql`(select 1)`)]);
    return this.actor;
  }

  /** @throws RegistryError `insufficient_scope` naming the scope that the caller lacks */
  require(scope: Scope): void {
    if (this.actor.scopes.includes(scope)) return;
    throw new RegistryError(
      'insufficient_scope',
      `This needs the scope ${scope}, which ${this.actor.name} does not have; use a credential that has it.`,
      { scopes: [scope] },
    );
  }

  notify(event: { cursor: string } | { revoked: string }): Promise<void> {
    return this.#around.notify({ accountId: this.actor.accountId, ...event });
  }

  defer(work: Promise<unknown>): void {
    this.#around.defer(work);
  }

  #tokenHolds(claim: Extract<Claim, { type: 'token' }>): SQL | undefined {
    return and(
      eq(tokens.hash, claim.hash),
      isNull(tokens.revokedAt),
      or(isNull(tokens.expiresAt), gt(tokens.expiresAt, this.now())),
    );
  }

  #deviceHolds(claim: Extract<Claim, { type: 'device' }>): SQL | undefined {
    return and(
      eq(deviceTokens.hash, claim.tokenHash),
      gt(deviceTokens.expiresAt, this.now()),
      eq(devices.thumbprint, claim.proof.thumbprint),
      isNull(devices.revokedAt),
    );
  }

  #entryStatements(): Statement[] {
    const claim = this.#claim;
    if (claim.type === 'token') {
      return [
        this.db
          .select({
            id: tokens.id,
            name: tokens.name,
            accountId: tokens.accountId,
            scopes: tokens.scopes,
            usedAt: tokens.lastUsedAt,
          })
          .from(tokens)
          .where(this.#tokenHolds(claim)),
      ];
    }
    return [
      proofStatement(this.db, claim.proof),
      this.db
        .select({
          id: devices.id,
          name: devices.name,
          accountId: devices.accountId,
          usedAt: devices.lastSeenAt,
        })
        .from(deviceTokens)
        .innerJoin(devices, eq(devices.id, deviceTokens.deviceId))
        .where(this.#deviceHolds(claim)),
    ];
  }

  #readActor(row: WhoRow | undefined): Actor {
    if (!row) {
      throw new RegistryError(
        'unauthorized',
        this.#claim.type === 'token'
          ? 'This API token is not known here, has expired or was revoked; make a new one.'
          : 'This device token is not known here, has expired or its device was revoked; ask for a new one.',
      );
    }
    this.#markUse(row);
    const { id, name, accountId } = row;
    return { type: this.#claim.type, id, name, accountId, scopes: row.scopes ?? DEVICE_SCOPES };
  }

  /** Last use is for people to read, so a minute's precision is enough and costs no write per request. */
  #markUse(row: WhoRow): void {
    const now = this.now();
    if (row.usedAt !== null && now - row.usedAt < 60_000) return;
    const write =
      this.#claim.type === 'token'
        ? this.db.update(tokens).set({ lastUsedAt: now }).where(eq(tokens.id, row.id))
        : this.db.update(devices).set({ lastSeenAt: now }).where(eq(devices.id, row.id));
    this.#around.defer(write.run());
  }
}

interface WhoRow {
  id: string;
  name: string;
  accountId: string;
  scopes?: Scope[];
  usedAt: number | null;
}
