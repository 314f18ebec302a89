import { beforeEach, expect, test } from 'vitest';
import type { Scope } from '../../../schema/api.ts';
import { sha256 } from '../../../schema/digest.ts';
import { devices, deviceTokens } from '../../../worker/db/tables/devices.ts';
import { identities, links, passkeys } from '../../../worker/db/tables/people.ts';
import { applications } from '../../../worker/db/tables/programs.ts';
import { listEvents } from '../../../worker/registry/account-events.ts';
import type { Claim } from '../../../worker/registry/claim.ts';
import { Context } from '../../../worker/registry/context.ts';
import { signInByIdentity } from '../../../worker/registry/identities.ts';
import { invite } from '../../../worker/registry/invitations.ts';
import { openLink } from '../../../worker/registry/links.ts';
import { newId } from '../../../worker/registry/random.ts';
import { revokeAll } from '../../../worker/registry/revoke-all.ts';
import { makeToken } from '../../../worker/registry/tokens.ts';
import { nobodysPasskey } from '../auth/nobodys-passkey.ts';
import { openTestRegistry, type TestRegistry } from './harness.ts';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
});

interface Everybody {
  session: () => Context;
  other: () => Context;
  token: () => Context;
  application: () => Context;
  device: () => Context;
  /** Id of the device. */
  id: string;
}

/** One of each that gets into an account. */
async function everybody(accountId = registry.accountId): Promise<Everybody> {
  const { db, clock, around } = registry;
  const [session, other] = [
    await registry.session({ account: accountId }),
    await registry.session({ account: accountId, verifiedAt: null }),
  ];
  const scopes: Scope[] = ['skills:read', 'devices:write'];
  const { token } = await makeToken(session(), { name: 'backup', scopes, days: null });
  const [grant, device, thumbprint, access] = [newId(), newId(), newId(), newId()];
  await db.insert(applications).values({
    id: grant,
    accountId,
    clientId: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    name: 'Claude',
    host: 'claude.ai',
    resource: 'http://localhost/mcp',
    scopes,
    readOnly: false,
    connectedAt: clock.now,
  });
  await db
    .insert(devices)
    .values({ id: device, accountId, name: 'laptop', platform: 'linux', thumbprint, pairedAt: clock.now });
  await db
    .insert(deviceTokens)
    .values({ hash: await sha256(access), deviceId: device, expiresAt: clock.now + 600_000 });
  const tokenHash = await sha256(access);
  const caller = (claim: () => Claim) => () => new Context(around, claim());
  const hash = await sha256(token);
  return {
    session,
    other,
    token: caller(() => ({ type: 'token', hash })),
    application: caller(() => ({ type: 'oauth', grant, accountId, clientId: 'c', scopes })),
    device: caller(() => ({
      type: 'device',
      tokenHash,
      proof: {
        jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' },
        thumbprint,
        jti: newId(),
        expiresAt: clock.now + 60_000,
      },
    })),
    id: device,
  };
}

async function whoGetsIn({ id: _, ...callers }: Everybody): Promise<string[]> {
  const inside: string[] = [];
  for (const [name, caller] of Object.entries(callers)) {
    const entered = await caller()
      .enter()
      .then(
        () => true,
        () => false,
      );
    if (entered) inside.push(name);
  }
  return inside;
}

const ALL = ['session', 'other', 'token', 'application', 'device'];

test('by a session leaves that session alone, and closes the sockets before it answers', async () => {
  const [mine, neighbours] = [await everybody(), await everybody(await registry.addAccount())];
  expect(await whoGetsIn(mine)).toEqual(ALL);
  expect(await revokeAll(mine.session())).toEqual({
    sessions: 1,
    tokens: 1,
    applications: 1,
    devices: 1,
    identities: 0,
    invitations: 0,
  });
  expect(registry.rings).toEqual([{ accountId: registry.accountId, revoked: mine.id }]);
  expect(await whoGetsIn(mine)).toEqual(['session']);
  expect(await whoGetsIn(neighbours)).toEqual(ALL);
  const { events } = await listEvents(mine.session());
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'all_revoked', details: { name: 'Firefox on Linux' } }),
  );
});

test('by an API token leaves that token alone', async () => {
  const mine = await everybody();
  expect(await revokeAll(mine.token())).toMatchObject({ sessions: 2, tokens: 0 });
  expect(await whoGetsIn(mine)).toEqual(['token']);
});

test('leaves no linked login by which whoever was signed out comes back, and no open invitation', async () => {
  const { db, clock, around, accountId } = registry;
  const identity = { issuer: 'https://id.example.com', subject: 'thief', name: 'me' };
  await db.insert(identities).values({ ...identity, accountId, createdAt: clock.now });
  const neighbours = await registry.addAccount();
  const other = { ...identity, subject: 'neighbour' };
  await db.insert(identities).values({ ...other, accountId: neighbours, createdAt: clock.now });
  const session = await registry.session();
  const { token } = await invite(session(), 'a guest');
  await invite((await registry.session({ account: neighbours }))(), 'their guest');
  const visitor = { browser: 'A browser', place: 'elsewhere', before: null };

  // Without a passkey the logins are the only way in.
  expect(await revokeAll(session())).toMatchObject({ identities: 0, invitations: 1 });
  await expect(openLink(around, token)).rejects.toMatchObject({ code: 'expired_token' });
  expect(await signInByIdentity(around, identity, { method: 'oidc', visitor })).toBeTypeOf('string');

  await db.insert(passkeys).values(nobodysPasskey(accountId, clock.now));
  expect(await revokeAll(session())).toMatchObject({ sessions: 1, identities: 1, invitations: 0 });
  await expect(signInByIdentity(around, identity, { method: 'oidc', visitor })).rejects.toMatchObject({
    code: 'access_denied',
  });
  expect(await db.select({ subject: identities.subject }).from(identities)).toEqual([
    { subject: 'neighbour' },
  ]);
  expect(await db.select({ name: links.name }).from(links)).toEqual([{ name: 'their guest' }]);
});

test('repeated closes the sockets that it did not reach', async () => {
  const mine = await everybody();
  const { notify } = registry.around;
  Object.assign(registry.around, { notify: () => Promise.reject(new Error('The object is away.')) });
  await expect(revokeAll(mine.session())).rejects.toThrow('away');
  expect(await whoGetsIn(mine)).toEqual(['session']);
  Object.assign(registry.around, { notify });
  expect(await revokeAll(mine.session())).toMatchObject({ sessions: 0, devices: 0 });
  expect(registry.rings).toEqual([{ accountId: registry.accountId, revoked: mine.id }]);
});

test('is refused to a session without a fresh passkey and to callers who may not say who gets in', async () => {
  const mine = await everybody();
  await expect(revokeAll(mine.other())).rejects.toMatchObject({ code: 'passkey_required' });
  await expect(revokeAll(mine.device())).rejects.toMatchObject({ code: 'insufficient_scope' });
  await expect(revokeAll(await registry.ctx(['skills:write']))).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  expect(await whoGetsIn(mine)).toEqual(ALL);
});
