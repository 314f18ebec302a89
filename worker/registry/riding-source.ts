import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import { MAIN_FILE } from '../../schema/item.ts';
import type { ServerCredential } from '../../schema/servers.ts';
import { accounts, blobs, files, items } from '../db/tables/registry.ts';
import { serverSkills, servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { type ListingAnswers, listingStatements } from './listing.ts';
import { noServer } from './servers.ts';

/** More skills than these ride on no server. */
const CANDIDATES = 1000;

/** A server as the gateway works with it. */
export interface OpenedServer {
  readonly id: string;
  readonly name: string;
  readonly upstream: string;
  readonly manifest: string;
  readonly credentialType: ServerCredential['type'];
  /** Encrypted. */
  readonly credential: string | null;
  readonly grant: string | null;
  readonly version: number;
  /** When it last listed its tools. */
  readonly toolsAt: number | null;
  readonly source: RidingSource;
}

/** What may ride on a server, and what is told beside it. */
export interface RidingSource {
  /** The same for as long as nothing of it has changed. What a device is told also hangs on its folders. */
  readonly mark: string;
  /** What the server listed last. */
  readonly tools: readonly unknown[] | null;
  /** Skills that are declared for it, by file name. */
  readonly declared: readonly { readonly file: string; readonly digest: string; readonly text: string }[];
  /** Active skills of the account that may ride on its tools, as far as their names and the last list tell. */
  readonly candidates: readonly RidingItem[];
  /** What is told of the account's items, for `toListing`; null where it was not read. */
  readonly listed: ListingAnswers | null;
}

/** An active skill of the account; `digest` is of its SKILL.md. */
export interface RidingItem {
  readonly name: string;
  readonly digest: string;
}

const columns = {
  id: servers.id,
  name: servers.name,
  upstream: servers.upstream,
  manifest: servers.manifest,
  credentialType: servers.credentialType,
  credential: servers.credential,
  grant: servers.grant,
  version: servers.version,
  toolsAt: servers.toolsAt,
  updatedAt: servers.updatedAt,
  epoch: accounts.epoch,
  seq: accounts.seq,
} as const;

/**
 * Opens one server, in the round trip that proves the caller. `tells`: with what is told of the account's items. `held` is
 * what an earlier call read: as long as that has not changed, little more than the caller is looked up. Needs `skills:read`.
 * @throws RegistryError `not_found`
 */
export async function openServer(
  ctx: Context,
  name: string,
  { tells, held }: { tells: boolean; held: RidingSource | null },
): Promise<OpenedServer> {
  const which = ofAccount(ctx, eq(servers.name, name));
  if (held && (held.listed || !tells)) {
    const [[row]] = await ctx.batch([selectServers(ctx, which)]);
    ctx.require('skills:read');
    if (!row) throw noServer(name);
    if (markOf(row) === held.mark) return { ...row, source: held };
  }
  const [[row], tools, declared, found, ...listed] = tells
    ? await ctx.batch([...everything(ctx, which), ...listingStatements(ctx)])
    : await ctx.batch(everything(ctx, which));
  ctx.require('skills:read');
  if (!row) throw noServer(name);
  return withSource(row, { tools, declared, found, listed: listed.length === 0 ? null : listed });
}

/** Opens the servers whose tools are in the main list, by name. Needs `skills:read`. */
export async function openMainServers(ctx: Context): Promise<OpenedServer[]> {
  const [rows, tools, declared, found] = await ctx.batch(
    everything(ctx, ofAccount(ctx, eq(servers.inMain, true))),
  );
  ctx.require('skills:read');
  return rows.map((row) => withSource(row, { tools, declared, found, listed: null }));
}

/** Active skills with one of these names. */
export async function itemsNamed(ctx: Context, names: readonly string[]): Promise<RidingItem[]> {
  return unpack(await selectItems(ctx, inArray(items.name, names.slice(0, CANDIDATES))));
}

/** The bytes of main files by digest, of the caller's account. */
export async function readContents(
  ctx: Context,
  digests: readonly string[],
): Promise<Map<string, Uint8Array>> {
  if (digests.length === 0) return new Map();
  const rows = await ctx.db
    .select({ digest: blobs.digest, bytes: blobs.bytes })
    .from(blobs)
    .where(and(eq(blobs.accountId, ctx.actor.accountId), inArray(blobs.digest, [...digests])));
  return new Map(rows.map(({ digest, bytes }) => [digest, bytes]));
}

/** Keeps what a server listed, for when it does not answer. What another version of it listed is not kept. */
export async function keepTools(
  ctx: Context,
  { id, version }: Pick<OpenedServer, 'id' | 'version'>,
  tools: unknown[],
): Promise<void> {
  await ctx.db
    .update(servers)
    .set({ tools, toolsAt: ctx.now() })
    .where(and(eq(servers.id, id), eq(servers.version, version)));
}

function ofAccount(ctx: Context, which: SQL): SQL | undefined {
  return and(eq(servers.accountId, ctx.account), which);
}

function everything(ctx: Context, which: SQL | undefined) {
  return [
    selectServers(ctx, which),
    ctx.db.select({ server: servers.id, tools: servers.tools }).from(servers).where(which),
    ctx.db
      .select({
        server: serverSkills.serverId,
        file: serverSkills.file,
        digest: serverSkills.digest,
        text: serverSkills.text,
      })
      .from(serverSkills)
      .innerJoin(servers, eq(servers.id, serverSkills.serverId))
      .where(which)
      .orderBy(asc(serverSkills.file)),
    selectItems(ctx, namesTools(which)),
  ] as const;
}

function selectServers(ctx: Context, which: SQL | undefined) {
  return ctx.db
    .select(columns)
    .from(servers)
    .innerJoin(accounts, eq(accounts.id, servers.accountId))
    .where(which)
    .orderBy(asc(servers.name));
}

type Row = Awaited<ReturnType<typeof selectServers>>[number];
type Everything = BatchResponse<ReturnType<typeof everything>>;

function withSource(
  row: Row,
  read: {
    tools: Everything[1];
    declared: Everything[2];
    found: Everything[3];
    listed: ListingAnswers | null;
  },
): OpenedServer {
  const source = {
    mark: markOf(row),
    tools: read.tools.find(({ server }) => server === row.id)?.tools ?? null,
    declared: read.declared.filter(({ server }) => server === row.id),
    candidates: unpack(read.found),
    listed: read.listed,
  };
  return { ...row, source };
}

/** Every change of an item and of the guidelines moves `seq`, every one of the server and of its skills `updatedAt`. */
function markOf({ id, epoch, seq, updatedAt, toolsAt }: Row): string {
  return [id, epoch, seq, updatedAt, toolsAt].join(' ');
}

/**
 * Skills that say what they ride on, or that are called like a tool of the last list: item names hold no `_`. Where the
 * front matter is not kept as JSON, only the reader can tell.
 */
function namesTools(which: SQL | undefined): SQL {
  const tools = sql`select replace(json_extract(tool.value, '$.name'), '_', '-') from ${servers}, json_each(${servers.tools}) as tool where ${which}`;
  return sql`(${items.frontMatter} is null or json_type(${items.frontMatter}, '$.references_tools') is not null or ${items.name} in (${tools}))`;
}

/**
 * Packed into one value: the protocol wraps each cell by itself, and unwrapping hundreds of rows would cost more than all
 * the rest of a list.
 */
function selectItems(ctx: Context, which: SQL | undefined) {
  const found = ctx.db
    .select({ name: items.name, digest: files.digest })
    .from(items)
    .innerJoin(
      files,
      and(eq(files.itemId, items.id), eq(files.revision, items.revision), eq(files.path, MAIN_FILE.skill)),
    )
    .where(and(eq(items.accountId, ctx.account), eq(items.state, 'active'), eq(items.kind, 'skill'), which))
    .orderBy(asc(items.name))
    .limit(CANDIDATES)
    .as('found');
  return ctx.db
    .select({ packed: sql<string>`json_group_array(json_array(${found.name}, ${found.digest}))` })
    .from(found);
}

function unpack(rows: readonly { packed: string }[]): RidingItem[] {
  const pairs: [string, string][] = JSON.parse(rows[0]?.packed ?? '[]');
  return pairs.map(([name, digest]) => ({ name, digest }));
}
