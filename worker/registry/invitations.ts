import { and, eq, gt, isNull, lte } from 'drizzle-orm';
import type { InvitationList } from '../../schema/account.ts';
import { sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { links } from '../db/tables/people.ts';
import { eventStatement } from './account-events.ts';
import { takeAttempt } from './attempts.ts';
import type { Context } from './context.ts';
import { labelOf } from './label.ts';
import { LINK_LIFE_MS } from './links.ts';
import { newSecret } from './random.ts';

const DAY_MS = 24 * 60 * 60_000;
/** So long it can still be said of a link that it was used or is too old. */
const KEPT_MS = 30 * DAY_MS;
const PER_DAY = 20;

/**
 * The token of a link that makes one further account, with a registry of its own. Needs `devices:write`.
 * @throws RegistryError `passkey_required`, `rate_limited` after twenty in a day
 */
export async function invite(ctx: Context, guest: string): Promise<{ token: string; expiresAt: number }> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  ctx.requireFreshPasskey();
  const name = labelOf(guest, 'name');
  const at = ctx.now();
  await takeAttempt(ctx.db, { bucket: `invite:${accountId}`, max: PER_DAY, windowMs: DAY_MS, now: at });
  const token = newSecret();
  const expiresAt = at + LINK_LIFE_MS;
  await ctx.write([
    ctx.db.delete(links).where(lte(links.expiresAt, at - KEPT_MS)),
    ctx.db.insert(links).values({
      hash: await sha256(token),
      type: 'invitation',
      madeBy: accountId,
      name,
      createdAt: at,
      expiresAt,
    }),
    eventStatement(ctx.db, { accountId, at, type: 'invited', details: { name } }),
  ]);
  return { token, expiresAt };
}

/** Invitations of the caller's account that somebody can still use, newest first. Needs `devices:write`. */
export async function listInvitations(ctx: Context): Promise<InvitationList> {
  const [rows] = await ctx.batch([
    ctx.db
      .select({
        id: links.hash,
        name: links.name,
        created_at: links.createdAt,
        expires_at: links.expiresAt,
      })
      .from(links)
      .where(and(eq(links.madeBy, ctx.account), isNull(links.usedAt), gt(links.expiresAt, ctx.now())))
      .orderBy(links.expiresAt, links.hash),
  ]);
  ctx.require('devices:write');
  return { invitations: rows.reverse() };
}

/** Takes an invitation back that was not used: its link is dead. Needs `devices:write`. @throws RegistryError `not_found` */
export async function revokeInvitation(ctx: Context, id: string): Promise<void> {
  const { accountId } = await ctx.enter();
  ctx.require('devices:write');
  const [revoked] = await ctx.write([
    ctx.db
      .delete(links)
      .where(and(eq(links.hash, id), eq(links.madeBy, accountId), isNull(links.usedAt)))
      .returning({ id: links.hash }),
  ]);
  if (revoked.length > 0) return;
  throw new RegistryError(
    'not_found',
    `There is no invitation ${id} that could be taken back; it may have been used already.`,
  );
}
