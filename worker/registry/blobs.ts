import { and, eq, inArray, isNotNull, lt, type SQL, sql } from 'drizzle-orm';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { LIMITS } from '../../schema/item.ts';
import { blobs } from '../db/tables/registry.ts';
import type { LoadBlobs } from './content.ts';
import type { Context } from './context.ts';

/** The bytes with this digest, of the caller's own account. */
export async function getBlob(ctx: Context, digest: string): Promise<Uint8Array> {
  const [rows] = await ctx.batch([
    ctx.db
      .select({ bytes: blobs.bytes })
      .from(blobs)
      .where(and(eq(blobs.accountId, ctx.account), eq(blobs.digest, digest))),
  ]);
  ctx.require('skills:read');
  const [row] = rows;
  if (!row) throw new RegistryError('not_found', `There is no content with the digest ${digest}.`);
  return row.bytes;
}

const LOOSE_LIFE_MS = 24 * 3_600_000;

/**
 * Keeps bytes until an item is committed by digest; ones that no revision names are dropped with the first that are sent
 * a day later. Credentials are looked for when they are committed.
 */
export async function putBlob(ctx: Context, digest: string, bytes: Uint8Array): Promise<void> {
  if (bytes.length > LIMITS.fileBytes) {
    throw new RegistryError(
      'too_large',
      `The content has ${bytes.length} bytes, and a file may have ${LIMITS.fileBytes} (1 MiB); make it smaller.`,
    );
  }
  if ((await sha256(bytes)) !== digest) {
    throw new RegistryError(
      'invalid_input',
      `The content sent does not have the digest ${digest}; compute its SHA-256 again.`,
    );
  }
  const { accountId } = await ctx.enter();
  ctx.require('skills:write');
  const now = ctx.now();
  await ctx.write([
    ctx.db.delete(blobs).where(lt(blobs.looseSince, now - LOOSE_LIFE_MS)),
    ctx.db
      .insert(blobs)
      .values({ accountId, digest, size: bytes.length, bytes, storedAt: now, looseSince: now })
      .onConflictDoUpdate({
        target: [blobs.accountId, blobs.digest],
        set: { looseSince: now },
        setWhere: isNotNull(blobs.looseSince),
      }),
  ]);
}

/**
 * For `prepareContent`: the bytes of the caller's account for some digests, in one round trip. More than an item may hold
 * is refused unread, for it would not fit the Worker's memory.
 */
export function loadBlobs(ctx: Context): LoadBlobs {
  return async (digests) => {
    const named = and(eq(blobs.accountId, ctx.account), inArray(blobs.digest, [...new Set(digests)]));
    const total: SQL<number> = sql`(select coalesce(sum(${blobs.size}), 0) from ${blobs} where ${named})`;
    const [[sum], rows] = await ctx.batch([
      ctx.db.select({ bytes: total }).from(sql`(select 1)`),
      ctx.db
        .select({ digest: blobs.digest, bytes: blobs.bytes })
        .from(blobs)
        .where(and(named, sql`${total} <= ${LIMITS.itemBytes}`)),
    ]);
    if (sum && sum.bytes > LIMITS.itemBytes) {
      throw new RegistryError(
        'too_large',
        `The contents named have ${sum.bytes} bytes in all, and an item may have ${LIMITS.itemBytes} (8 MiB); leave some files out.`,
      );
    }
    return new Map(rows.map((row) => [row.digest, row.bytes]));
  };
}

/** Bytes as text where they are UTF-8 without NUL, else as base64. */
export function encodeContent(bytes: Uint8Array): { text: string } | { base64: string } {
  const text = decodeText(bytes);
  if (text !== null) return { text };
  let binary = '';
  for (let i = 0; i < bytes.length; i += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return { base64: btoa(binary) };
}
