import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import { MAIN_FILE } from '../../schema/item.ts';
import type { ServerCredential } from '../../schema/servers.ts';
import { blobs, files, items } from '../db/tables/registry.ts';
import { serverSkills, servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { type Listener, type Listing, listingStatements, toListing } from './listing.ts';
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
  /** What it listed last, and when. */
  readonly tools: unknown[] | null;
  readonly toolsAt: number | null;
  /** Skills that are declared for it, by file name. */
  readonly declared: readonly { readonly file: string; readonly digest: string; readonly text: string }[];
  /** Active skills of the account that may ride on its tools, as far as their names and the last list tell. */
  readonly candidates: readonly RidingItem[];
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
  tools: servers.tools,
  toolsAt: servers.toolsAt,
} as const;

/** Opens one server, in the round trip that proves the caller. Needs `skills:read`. @throws RegistryError `not_found` */
export async function openServer(ctx: Context, name: string): Promise<OpenedServer> {
  const [server] = await open(ctx, eq(servers.name, name));
  if (!server) throw noServer(name);
  return server;
}

/** As {@link openServer}, with what the caller is told of the account's items: in one round trip as well. */
export async function openListedServer(
  ctx: Context,
  name: string,
  listener: Listener,
): Promise<{ server: OpenedServer; listing: Listing }> {
  const [rows, declared, found, ...listed] = await ctx.batch([
    ...serverStatements(ctx, eq(servers.name, name)),
    ...listingStatements(ctx),
  ]);
  const [server] = toServers(ctx, [rows, declared, found]);
  if (!server) throw noServer(name);
  return { server, listing: toListing(ctx, listener, listed) };
}

/** Opens the servers whose tools are in the main list, by name. Needs `skills:read`. */
export function openMainServers(ctx: Context): Promise<OpenedServer[]> {
  return open(ctx, eq(servers.inMain, true));
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

async function open(ctx: Context, which: SQL): Promise<OpenedServer[]> {
  return toServers(ctx, await ctx.batch(serverStatements(ctx, which)));
}

function serverStatements(ctx: Context, which: SQL) {
  const mine = and(eq(servers.accountId, ctx.account), which);
  return [
    ctx.db.select(columns).from(servers).where(mine).orderBy(asc(servers.name)),
    ctx.db
      .select({
        server: serverSkills.serverId,
        file: serverSkills.file,
        digest: serverSkills.digest,
        text: serverSkills.text,
      })
      .from(serverSkills)
      .innerJoin(servers, eq(servers.id, serverSkills.serverId))
      .where(mine)
      .orderBy(asc(serverSkills.file)),
    selectItems(ctx, namesTools(mine)),
  ] as const;
}

function toServers(
  ctx: Context,
  [rows, declared, found]: BatchResponse<ReturnType<typeof serverStatements>>,
): OpenedServer[] {
  ctx.require('skills:read');
  const candidates = unpack(found);
  return rows.map((row) => ({
    ...row,
    declared: declared.filter(({ server }) => server === row.id),
    candidates,
  }));
}

/**
 * Skills that say what they ride on, or that are called like a tool of the last list: item names hold no `_`. Where the
 * front matter is not kept as JSON, only the reader can tell.
 */
function namesTools(mine: SQL | undefined): SQL {
  const tools = sql`select replace(json_extract(tool.value, '$.name'), '_', '-') from ${servers}, json_each(${servers.tools}) as tool where ${mine}`;
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
