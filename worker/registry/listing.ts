import { and, asc, count, eq, notInArray, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { ClientRow } from '../../schema/clients.ts';
import type { Kind } from '../../schema/item.ts';
import { kindsLeftOut, type ListedItem, NAMED_MAX } from '../../schema/listing.ts';
import { folderItems, folderReports } from '../db/tables/devices.ts';
import { accounts, items } from '../db/tables/registry.ts';
import { servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { AS_WISHED } from './devices.ts';

/** Of each description: enough for the listing's own cut, little enough that 400 of them travel lightly. */
const DESCRIPTION_READ = 300;

export interface Listing {
  readonly items: ListedItem[];
  readonly totals: Record<Kind, number>;
  readonly guidelines: string;
  /** How many servers have their tools in the main list. */
  readonly mainServers: number;
}

export interface Listener {
  readonly client: ClientRow | null;
  /** Served to a WSL distribution, which does not see the device's folders. */
  readonly wsl: boolean;
}

/**
 * What a session is told of: active items without the kinds that its client already reads from folders on this very
 * device, by the device's last report; items that the report shows as not on disk stay in. One round trip, whatever the
 * number of items.
 */
export async function readListing(ctx: Context, listener: Listener): Promise<Listing> {
  return toListing(ctx, listener, await ctx.batch(listingStatements(ctx)));
}

/** What {@link readListing} asks, to ride in another verb's batch. */
export function listingStatements(ctx: Context) {
  const active = and(eq(items.accountId, ctx.account), eq(items.state, 'active'));
  const device = ctx.device ?? sql`''`;
  return [
    ctx.db.select({ guidelines: accounts.guidelines }).from(accounts).where(eq(accounts.id, ctx.account)),
    firstNamed(ctx, 'skill'),
    firstNamed(ctx, 'persona'),
    ctx.db.select({ kind: items.kind, n: count() }).from(items).where(active).groupBy(items.kind),
    ctx.db
      .select({ kind: folderReports.kind, clients: folderReports.clients, state: folderReports.state })
      .from(folderReports)
      .where(eq(folderReports.deviceId, device)),
    ctx.db
      .selectDistinct({ kind: items.kind, name: items.name, description: items.description })
      .from(folderItems)
      .innerJoin(items, eq(items.id, folderItems.itemId))
      .where(and(eq(folderItems.deviceId, device), notInArray(folderItems.state, [...AS_WISHED]), active)),
    ctx.db
      .select({ n: count() })
      .from(servers)
      .where(and(eq(servers.accountId, ctx.account), eq(servers.inMain, true))),
  ] as const;
}

export type ListingAnswers = BatchResponse<ReturnType<typeof listingStatements>>;

/** What {@link readListing} gives, from the answers to its statements. Needs `skills:read`. */
export function toListing(ctx: Context, { client, wsl }: Listener, answers: ListingAnswers): Listing {
  const [[account], skills, personas, counts, folders, exceptions, [main]] = answers;
  ctx.require('skills:read');
  const out = kindsLeftOut({ client, hasDevice: ctx.device !== null, wsl, folders });
  const total = (kind: Kind) => counts.find((row) => row.kind === kind)?.n ?? 0;
  const shown = (kind: Kind, all: ListedItem[]) =>
    out.has(kind) ? exceptions.filter((item) => item.kind === kind) : all;
  const listedSkills = shown('skill', unpack('skill', skills));
  const listedPersonas = shown('persona', unpack('persona', personas));
  return {
    items: [...listedSkills, ...listedPersonas],
    totals: {
      skill: out.has('skill') ? listedSkills.length : total('skill'),
      persona: out.has('persona') ? listedPersonas.length : total('persona'),
    },
    guidelines: account?.guidelines ?? '',
    mainServers: main?.n ?? 0,
  };
}

/**
 * The first items of a kind by name, packed into one value: the protocol wraps each cell by itself, and unwrapping
 * hundreds of rows would cost more than the query.
 */
function firstNamed(ctx: Context, kind: Kind) {
  const listed = ctx.db
    .select({ name: items.name, description: items.description })
    .from(items)
    .where(and(eq(items.accountId, ctx.account), eq(items.state, 'active'), eq(items.kind, kind)))
    .orderBy(asc(items.name))
    .limit(NAMED_MAX)
    .as('listed');
  return ctx.db
    .select({
      packed: sql<string>`json_group_array(json_array(${listed.name}, substr(${listed.description}, 1, ${DESCRIPTION_READ})))`,
    })
    .from(listed);
}

function unpack(kind: Kind, rows: readonly { packed: string }[]): ListedItem[] {
  const pairs: [string, string][] = JSON.parse(rows[0]?.packed ?? '[]');
  return pairs.map(([name, description]) => ({ kind, name, description }));
}
