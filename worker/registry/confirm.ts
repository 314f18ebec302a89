import { and, eq } from 'drizzle-orm';
import type { z } from 'zod';
import type { Confirmation } from '../../schema/api.ts';
import type { Statement } from '../db/client.ts';
import { confirmations } from '../db/tables.ts';
import type { Content } from './content.ts';
import type { Context } from './context.ts';
import { assertNoCredentials } from './credentials.ts';

/** Pseudo paths under which texts that are no files are named in a refusal. */
const DESCRIPTION = 'description';

interface Check {
  readonly id: string;
  readonly content: Content;
  readonly confirm: readonly z.infer<typeof Confirmation>[];
}

/**
 * Refuses credentials in the texts that changed. A match of the level `ask` passes when this item's was confirmed before,
 * or is confirmed now by a caller with `items:confirm`; the statements returned keep that for later edits.
 * @throws RegistryError `credential`, `confirmation_required`
 */
export async function checkContent(ctx: Context, { id, content, confirm }: Check): Promise<Statement[]> {
  const texts = [...content.texts].map(([path, text]) => ({ path, text }));
  texts.push({ path: DESCRIPTION, text: `${content.name}\n${content.description}` });
  if (confirm.length > 0) ctx.require('items:confirm');
  const found = await assertNoCredentials(texts, async () => [
    ...confirm,
    ...(await confirmedBefore(ctx, id)),
  ]);
  if (!found) return [];
  const { accountId } = ctx.actor;
  return confirm.map(({ rule, match }) =>
    ctx.db
      .insert(confirmations)
      .values({ accountId, itemId: id, rule, match, author: ctx.author, at: ctx.now() })
      .onConflictDoNothing(),
  );
}

function confirmedBefore(ctx: Context, id: string) {
  return ctx.db
    .select({ rule: confirmations.rule, match: confirmations.match })
    .from(confirmations)
    .where(and(eq(confirmations.accountId, ctx.account), eq(confirmations.itemId, id)));
}
