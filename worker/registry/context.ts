import { type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { Scope } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import type { Author } from '../../schema/item.ts';
import { type Database, guardBroke, type Statement } from '../db/client.ts';
import { guards } from '../db/tables/registry.ts';
import { type Claim, type Holder, lookUp } from './claim.ts';
import { proofError } from './proof.ts';

/** Who calls, once the database has confirmed it. */
export interface Actor {
  readonly type: Author['type'];
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  readonly scopes: readonly Scope[];
  /** Never to write, whatever it asks for: limited by the person, or an API token made without `skills:write`. */
  readonly readOnly: boolean;
}

/** What the registry tells the push room. The only port out of the core. */
export type Notify = (
  event: { accountId: string; cursor: string } | { accountId: string; revoked: string },
) => Promise<void>;

/** What verbs work with, whoever calls. */
export interface Surroundings {
  readonly db: Database;
  readonly now: () => number;
  readonly notify: Notify;
  /** Lets work go on after the answer has left. */
  readonly defer: (work: Promise<unknown>) => void;
}

/** Last use is for people to read, so a minute's precision is enough and costs no write per request. */
const USE_PRECISION_MS = 60_000;

/** For so long after a passkey was checked no sensitive act asks for it again. */
const FRESH_MS = 5 * 60_000;

/**
 * What every verb gets: the database and the caller. The caller's credentials are looked up in the same batch as the
 * verb's first query, so a read costs one round trip. Until then `account` is a sub-query that yields nothing for a
 * credential that does not hold, and `actor` is not to be had.
 */
export class Context {
  readonly db: Database;
  readonly now: () => number;
  readonly #around: Surroundings;
  readonly #type: Claim['type'];
  readonly #lookup: ReturnType<typeof lookUp>;
  #actor: Actor | null = null;
  #verifiedAt: number | null = null;
  /** OAuth client that calls; undefined for every other caller. */
  readonly clientId: string | undefined;
  /** MCP client name for the author line, where the call came through one. */
  client: string | undefined;

  constructor(around: Surroundings, claim: Claim) {
    this.db = around.db;
    this.now = around.now;
    this.#around = around;
    this.#type = claim.type;
    this.clientId = claim.type === 'oauth' ? claim.clientId : undefined;
    this.#lookup = lookUp(around.db, claim, around.now());
  }

  /** Account of the caller, for use in a statement. */
  get account(): SQL<string> {
    return this.#actor ? sql`${this.#actor.accountId}` : this.#lookup.account;
  }

  /** Id of the calling device for use in a statement; null where the caller is none. */
  get device(): SQL<string> | null {
    const { device } = this.#lookup;
    return device && this.#actor ? sql`${this.#actor.id}` : device;
  }

  /** Under which something may be kept from one call to the next with the same credential, proven or not. */
  get key(): string | null {
    return this.#lookup.key;
  }

  /** The caller. Only after the first batch. */
  get actor(): Actor {
    if (!this.#actor) throw new RegistryError('internal', 'The caller was asked for before the first query.');
    return this.#actor;
  }

  /** Who is named for what the caller writes. Only after the first batch. */
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
    const entry = this.#lookup.statements;
    let results: unknown[];
    try {
      results = await this.db.batch([...entry, ...statements] as unknown as [Statement]);
    } catch (error) {
      throw proofError(error);
    }
    this.#actor = this.#confirm((results[entry.length - 1] as Holder[])[0]);
    return results.slice(entry.length) as BatchResponse<T>;
  }

  /**
   * As {@link batch}, for what must not be written once the caller's credential has ended: a revocation also stops what it
   * finds under way. Rows that the statements put into `guards` are taken out at the end.
   * @throws RegistryError `unauthorized`; an error for which `guardBroke` holds when another guard broke
   */
  async write<U extends Statement, T extends Readonly<[U, ...U[]]>>(
    statements: T,
  ): Promise<BatchResponse<T>> {
    const holds = sql`${this.#lookup.account} is not null`;
    const guarded = [this.db.insert(guards).values({ holds }), ...statements, this.db.delete(guards)];
    try {
      const results: unknown[] = await this.batch(guarded as unknown as [Statement]);
      return results.slice(1, -1) as BatchResponse<T>;
    } catch (error) {
      if (guardBroke(error)) await this.requireHeld();
      throw error;
    }
  }

  /** Proves the caller on its own: for verbs that have nothing to read first. */
  async enter(): Promise<Actor> {
    if (!this.#actor) await this.batch([this.db.select({ one: sql`1` }).from(sql`(select 1)`)]);
    return this.actor;
  }

  /** Looks whether the caller's credential still holds. @throws RegistryError `unauthorized` */
  async requireHeld(): Promise<void> {
    if (!(await this.#holder())) throw this.#refused();
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

  /**
   * Whether the caller may do what a stolen session must not: a session needs a passkey that was checked minutes ago. Other
   * callers have no passkey to ask for; their scopes say what they may do.
   */
  get passkeyIsFresh(): boolean {
    if (this.actor.type !== 'session') return true;
    return this.#verifiedAt !== null && this.now() - this.#verifiedAt < FRESH_MS;
  }

  /** @throws RegistryError `passkey_required` unless {@link passkeyIsFresh} */
  requireFreshPasskey(): void {
    if (this.passkeyIsFresh) return;
    throw new RegistryError(
      'passkey_required',
      'This needs your passkey again, since it changes who gets in or removes much; confirm with the passkey and repeat it.',
    );
  }

  /** Tells the push room of a change, or of a revoked device, in the caller's account. */
  notify(event: { cursor: string } | { revoked: string }): Promise<void> {
    return this.#around.notify({ accountId: this.actor.accountId, ...event });
  }

  /** Lets work go on after the answer has left. */
  defer(work: Promise<unknown>): void {
    this.#around.defer(work);
  }

  /** Whom the credential belongs to now. */
  async #holder(): Promise<Holder | undefined> {
    const [rows] = await this.db.batch([this.#lookup.statements.at(-1) as Statement]);
    return (rows as Holder[])[0];
  }

  #refused(): RegistryError {
    return new RegistryError('unauthorized', this.#lookup.refusal);
  }

  #confirm(holder: Holder | undefined): Actor {
    if (!holder) throw this.#refused();
    const { id, name, accountId, scopes = this.#lookup.scopes, usedAt, verifiedAt = null } = holder;
    const readOnly = holder.readOnly ?? !scopes.includes('skills:write');
    this.#verifiedAt = verifiedAt;
    if (usedAt === null || this.now() - usedAt >= USE_PRECISION_MS) this.defer(this.#lookup.markUsed(id));
    return { type: this.#type, id, name, accountId, scopes, readOnly };
  }
}
