import { and, eq, isNotNull, sql } from 'drizzle-orm';
import type { Change, WriteAnswer } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { type FileEntry, type Item, LIMITS, type State } from '../../schema/item.ts';
import { brokenConstraint, guardBroke, type Statement } from '../db/client.ts';
import { accounts, blobs, changes, files, guards, items, revisions } from '../db/tables/registry.ts';
import type { Content } from './content.ts';
import type { Context } from './context.ts';
import { formatCursor, lastSeq, selectPosition } from './cursor.ts';
import type { Head } from './head.ts';
import { indexStatements } from './search-index.ts';

/** Path, digest and the rest of a file without its bytes, as JSON. */
const ENTRY_BYTES = 200;

/** Thrown by {@link commit} when another write came first; verbs turn it into `conflict` or try again. */
export class HeadMoved extends Error {}

/** What to write on `head`, or, where the item must not exist yet, as its first revision. Without content no revision is made. */
export type Commit = Write &
  (
    | { readonly head: Head; readonly content: Content | null }
    | { readonly head: null; readonly content: Content }
  );

interface Write {
  readonly id: string;
  readonly state: State;
  readonly types: readonly [Change['type'], ...Change['type'][]];
  /** Statements of the verb that belong to the same transaction. */
  readonly also?: readonly Statement[];
}

/**
 * Writes revision, head, change rows and search index in one transaction whose first statement aborts it when the head
 * is no longer the one that the write is based on, then rings the devices. A conditional UPDATE alone would match no
 * row and let the later statements commit.
 * @throws HeadMoved, RegistryError `name_taken`, `unauthorized` when the caller's credential was revoked meanwhile
 */
export async function commit(ctx: Context, write: Commit): Promise<WriteAnswer> {
  const now = ctx.now();
  const { db } = ctx;
  const { accountId } = ctx.actor;
  const { id, head, content, state } = write;
  const current = currentOf(write);
  const { kind, name, description, digest, flags, files: entries } = current;
  const revision = (head?.revision ?? 0) + (content ? 1 : 0);
  const seq = lastSeq(ctx);
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
  const summary = { name, description, revision, digest, flags, state, seq, updatedAt: now };
  const derived = (from: Content) => ({
    frontMatter: from.frontMatter,
    inlineBytes: inlineBytes(from.files),
  });
  if (write.head === null) {
    const first = { ...summary, ...derived(write.content) };
    statements.push(db.insert(items).values({ id, accountId, kind, createdAt: now, ...first }));
  } else {
    statements.push(
      db
        .update(items)
        .set({ ...summary, ...(content && derived(content)) })
        .where(eq(items.id, id)),
    );
  }
  if (content) {
    const { frontMatter } = content;
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
    ...indexStatements(ctx, { id, head, content, state, current }),
    ...(write.also ?? []),
    selectPosition(ctx),
  );

  let results: unknown[];
  try {
    results = await ctx.write(statements as [Statement]);
  } catch (error) {
    if (guardBroke(error)) throw new HeadMoved();
    if (brokenConstraint(error)?.startsWith('UNIQUE items.')) {
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
    description,
    state,
    revision,
    digest,
    flags,
    updated_at: now,
    files: [...entries],
  };
  return { item, cursor };
}

/** What the item is once it is written. */
function currentOf(write: Commit): Content | Head {
  return write.head === null ? write.content : (write.content ?? write.head);
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
