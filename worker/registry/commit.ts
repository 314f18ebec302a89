import { and, eq, isNotNull, sql } from 'drizzle-orm';
import type { Change, WriteAnswer } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { type FileEntry, type Item, LIMITS, type State } from '../../schema/item.ts';
import { brokenConstraint, type Statement } from '../db/client.ts';
import { accounts, blobs, changes, files, guards, items, revisions } from '../db/tables.ts';
import type { Content } from './content.ts';
import type { Context } from './context.ts';
import { formatCursor, lastSeq, selectPosition } from './cursor.ts';
import type { Head } from './head.ts';
import { indexStatements } from './search-index.ts';

/** Path, digest and the rest of a file without its bytes, as JSON. */
const ENTRY_BYTES = 200;

/** Thrown by {@link commit} when another write came first; verbs turn it into `conflict` or try again. */
export class HeadMoved extends Error {}

export interface Commit {
  readonly id: string;
  /** The head that this write is based on; null when the item must not exist yet. */
  readonly head: Head | null;
  readonly content: Content | null;
  readonly state: State;
  readonly types: readonly [Change['type'], ...Change['type'][]];
  /** Statements of the verb that belong to the same transaction. */
  readonly also?: readonly Statement[];
}

/**
 * Writes revision, head, change rows and search index in one transaction whose first statement aborts it when the head
 * is no longer the one that the write is based on, then rings the devices. A conditional UPDATE alone would match no
 * row and let the later statements commit.
 * @throws HeadMoved
 */
export async function commit(ctx: Context, write: Commit): Promise<WriteAnswer> {
  const now = ctx.now();
  const { db } = ctx;
  const { accountId } = ctx.actor;
  const { id, head, content, state } = write;
  const revision = content ? (head?.revision ?? 0) + 1 : (head as Head).revision;
  const name = content?.name ?? (head as Head).name;
  const kind = content?.kind ?? (head as Head).kind;
  const seq = lastSeq(ctx);
  const current = content
    ? {
        name,
        description: content.description,
        revision,
        digest: content.digest,
        flags: content.flags,
        frontMatter: content.frontMatter,
        inlineBytes: inlineBytes(content.files),
      }
    : {};

  const statements: Statement[] = [guardHead(ctx, id, head)];
  if (content) {
    for (const [digest, bytes] of content.bytes) {
      statements.push(
        db
          .insert(blobs)
          .values({ accountId, digest, size: bytes.length, bytes, storedAt: now })
          .onConflictDoUpdate({
            target: [blobs.accountId, blobs.digest],
            set: { looseSince: null },
            setWhere: isNotNull(blobs.looseSince),
          }),
      );
    }
  }
  for (const type of write.types) {
    statements.push(
      db
        .update(accounts)
        .set({ seq: sql`${accounts.seq} + 1` })
        .where(eq(accounts.id, accountId)),
      db
        .insert(changes)
        .values({ accountId, seq, at: now, type, itemId: id, kind, name, revision, author: ctx.author }),
    );
  }
  statements.push(
    head
      ? db
          .update(items)
          .set({ ...current, state, seq, updatedAt: now })
          .where(eq(items.id, id))
      : db.insert(items).values({
          id,
          accountId,
          kind,
          state,
          seq,
          createdAt: now,
          updatedAt: now,
          ...current,
        } as unknown as typeof items.$inferInsert),
  );
  if (content) {
    const { description, digest, flags, frontMatter } = content;
    statements.push(
      db.insert(revisions).values({
        itemId: id,
        revision,
        parent: head?.revision ?? null,
        digest,
        name,
        description,
        flags,
        frontMatter,
        author: ctx.author,
        madeAt: now,
      }),
      db.insert(files).values(content.files.map((file) => ({ itemId: id, revision, ...file }))),
    );
  }
  statements.push(
    ...indexStatements(ctx, { id, head, content, state }),
    ...(write.also ?? []),
    db.delete(guards),
    selectPosition(ctx),
  );

  let results: unknown[];
  try {
    results = await db.batch(statements as [Statement]);
  } catch (error) {
    const broken = brokenConstraint(error);
    if (broken?.startsWith('CHECK guard_holds')) throw new HeadMoved();
    if (broken?.startsWith('UNIQUE items.')) {
      throw new RegistryError(
        'name_taken',
        `There is already a ${kind} named ${name}, or one that was removed and keeps its name; choose another name.`,
        { field: 'name' },
      );
    }
    throw error;
  }
  const [account] = results.at(-1) as { epoch: string; seq: number }[];
  if (!account) throw new RegistryError('internal', 'The account vanished during the write.');
  const cursor = formatCursor(account);
  ctx.defer(ctx.notify({ cursor }));
  const item: Item = {
    id,
    kind,
    name,
    description: content?.description ?? (head as Head).description,
    state,
    revision,
    digest: content?.digest ?? (head as Head).digest,
    flags: content?.flags ?? (head as Head).flags,
    updated_at: now,
    files: content?.files ?? [...(head as Head).files],
  };
  return { item, cursor };
}

/** Aborts the batch by a broken CHECK unless the item is still at the head given (or still does not exist). */
function guardHead(ctx: Context, id: string, head: Head | null): Statement {
  const holds = head
    ? sql`exists (select 1 from ${items} where ${and(eq(items.id, id), eq(items.revision, head.revision), eq(items.state, head.state))})`
    : sql`not exists (select 1 from ${items} where ${eq(items.id, id)})`;
  return ctx.db.insert(guards).values({ holds });
}

/** What a changes page carries of an item: the bytes of small files, and an entry for each. */
function inlineBytes(entries: readonly FileEntry[]): number {
  return entries.reduce(
    (sum, file) => sum + ENTRY_BYTES + (file.size <= LIMITS.inlineBytes ? file.size : 0),
    0,
  );
}
