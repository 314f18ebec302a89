import { and, eq } from 'drizzle-orm';
import type { Confirmation } from '../../schema/api.ts';
import type { Statement } from '../db/client.ts';
import { confirmations } from '../db/tables/registry.ts';
import type { Content } from './content.ts';
import type { Context } from './context.ts';
import { findCredentials, refuseCredentials, type ScannedText } from './credentials.ts';

/** Pseudo path under which name and description are named in a refusal. */
const HEADER = 'description';

/**
 * Refuses credentials in the texts that changed. A match of the level `ask` passes when it was confirmed for this item
 * before, or is confirmed now by a caller with `items:confirm`; the statements returned keep that for later edits.
 * @throws RegistryError `credential`, `confirmation_required`, `insufficient_scope`
 */
export function checkContent(
  ctx: Context,
  id: string,
  content: Content,
  confirm: readonly Confirmation[] = [],
): Promise<Statement[]> {
  const texts = [...content.texts].map(([path, text]) => ({ path, text }));
  texts.push({ path: HEADER, text: `${content.name}\n${content.description}` });
  return checkTexts(ctx, id, texts, confirm);
}

/** As {@link checkContent}, for texts that are no item; `id` is what their confirmations are kept under. */
export async function checkTexts(
  ctx: Context,
  id: string,
  texts: readonly ScannedText[],
  confirm: readonly Confirmation[] = [],
): Promise<Statement[]> {
  if (confirm.length > 0) ctx.require('items:confirm');
  const findings = await findCredentials(texts);
  if (findings.length === 0) return [];
  const { accountId } = ctx.actor;
  const before = await ctx.db
    .select({ rule: confirmations.rule, match: confirmations.match })
    .from(confirmations)
    .where(and(eq(confirmations.accountId, accountId), eq(confirmations.itemId, id)));
  refuseCredentials(findings, [...before, ...confirm], ctx.actor.scopes.includes('items:confirm'));
  // What matches nothing here is not kept: nobody confirms beforehand what nobody has seen.
  const found = confirm.filter(({ rule, match }) =>
    findings.some((finding) => finding.level === 'ask' && finding.rule === rule && finding.match === match),
  );
  return found.map(({ rule, match }) =>
    ctx.db
      .insert(confirmations)
      .values({ accountId, itemId: id, rule, match, author: ctx.author, at: ctx.now() })
      .onConflictDoNothing(),
  );
}
