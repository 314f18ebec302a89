import { and, eq, inArray, isNull, ne, sql } from 'drizzle-orm';
import type { RevokedAll } from '../../schema/account.ts';
import { devices, deviceTokens } from '../db/tables/devices.ts';
import { identities, links, passkeys, sessions } from '../db/tables/people.ts';
import { applications, tokens } from '../db/tables/programs.ts';
import { eventStatement } from './account-events.ts';
import { endAllGrants } from './applications.ts';
import type { Context } from './context.ts';

/**
 * Ends whatever lets anybody into the caller's account, such as after the loss of a passkey: every session, API token,
 * application and device but the session or token that calls, and every linked login, by which whoever was signed out
 * could come back. Invitations that nobody used are dead. Sockets are closed when this resolves; repeating it closes
 * those that it could not reach. Passkeys and recovery codes stay, and without a passkey the linked logins: the person
 * needs a way in. A lost passkey is removed by its name. Needs `devices:write`.
 * @throws RegistryError `passkey_required`
 */
export async function revokeAll(ctx: Context): Promise<RevokedAll> {
  const { accountId, id, name } = await ctx.enter();
  ctx.require('devices:write');
  ctx.requireFreshPasskey();
  const { db } = ctx;
  const at = ctx.now();
  const living = (table: typeof sessions | typeof tokens | typeof devices) =>
    and(eq(table.accountId, accountId), isNull(table.revokedAt), ne(table.id, id));
  const connected = and(eq(applications.accountId, accountId), isNull(applications.revokedAt));
  const mine = db.select({ id: devices.id }).from(devices).where(eq(devices.accountId, accountId));
  const hasPasskey = sql`exists (select 1 from ${passkeys} where ${eq(passkeys.accountId, accountId)})`;
  const [endedSessions, endedTokens, endedDevices, unlinked, invitations, endedApplications, sockets] =
    await ctx.write([
      db.update(sessions).set({ revokedAt: at }).where(living(sessions)).returning({ id: sessions.id }),
      db.update(tokens).set({ revokedAt: at }).where(living(tokens)).returning({ id: tokens.id }),
      db.update(devices).set({ revokedAt: at }).where(living(devices)).returning({ id: devices.id }),
      db
        .delete(identities)
        .where(and(eq(identities.accountId, accountId), hasPasskey))
        .returning({ name: identities.name }),
      db
        .delete(links)
        .where(and(eq(links.madeBy, accountId), isNull(links.usedAt)))
        .returning({ hash: links.hash }),
      db.select({ id: applications.id }).from(applications).where(connected),
      mine,
      db.delete(deviceTokens).where(inArray(deviceTokens.deviceId, mine)),
      eventStatement(db, { accountId, at, type: 'all_revoked', details: { name } }),
      ...endAllGrants(db, { accountId, at }),
    ]);
  await Promise.all(sockets.map((device) => ctx.notify({ revoked: device.id })));
  return {
    sessions: endedSessions.length,
    tokens: endedTokens.length,
    applications: endedApplications.length,
    devices: endedDevices.length,
    identities: unlinked.length,
    invitations: invitations.length,
  };
}
