import { eq, sql } from 'drizzle-orm';
import type { Guidelines, GuidelinesBody } from '../../schema/api.ts';
import { RegistryError } from '../../schema/errors.ts';
import { LIMITS } from '../../schema/item.ts';
import { accounts, changes } from '../db/tables/registry.ts';
import { checkTexts } from './confirm.ts';
import type { Context } from './context.ts';
import { formatCursor, lastSeq, selectPosition } from './cursor.ts';

/** The user's guidelines: what every client is told before the items. */
export async function getGuidelines(ctx: Context): Promise<Guidelines> {
  const [[row]] = await ctx.batch([
    ctx.db
      .select({ text: accounts.guidelines, updated_at: accounts.guidelinesAt })
      .from(accounts)
      .where(eq(accounts.id, ctx.account)),
  ]);
  ctx.require('skills:read');
  return row ?? { text: '', updated_at: null };
}

/** Replaces the guidelines. At most 8,000 characters; credentials are refused as in an item. */
export async function setGuidelines(ctx: Context, { text, confirm }: GuidelinesBody): Promise<Guidelines> {
  if (text.length > LIMITS.guidelines) {
    throw new RegistryError(
      'too_large',
      `The guidelines have ${text.length} characters, and ${LIMITS.guidelines} is the most; shorten them.`,
      { field: 'text' },
    );
  }
  if (!text.isWellFormed())
    throw new RegistryError(
      'invalid_input',
      'The guidelines hold half of a surrogate pair; send valid Unicode.',
      { field: 'text' },
    );
  const { accountId } = await ctx.enter();
  ctx.require('skills:write');
  const confirmed = await checkTexts(ctx, 'guidelines', [{ path: 'guidelines', text }], confirm);
  const now = ctx.now();
  const [, , [account]] = await ctx.write([
    ctx.db
      .update(accounts)
      .set({
        seq: sql`${accounts.seq} + 1`,
        guidelines: text,
        guidelinesSeq: sql`${accounts.seq} + 1`,
        guidelinesAt: now,
      })
      .where(eq(accounts.id, accountId)),
    ctx.db
      .insert(changes)
      .values({ accountId, seq: lastSeq(ctx), at: now, type: 'guidelines', author: ctx.author }),
    selectPosition(ctx),
    ...confirmed,
  ]);
  if (account) ctx.defer(ctx.notify({ cursor: formatCursor(account) }));
  return { text, updated_at: now };
}
