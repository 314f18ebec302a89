import { Scope } from '../../schema/api.ts';
import { identities } from '../../worker/db/tables/people.ts';
import { applications } from '../../worker/db/tables/programs.ts';
import { newId } from '../../worker/registry/random.ts';
import type { TestApi } from './api/harness.ts';
import { signedIn } from './auth/signed-in.ts';
import { TestDevice } from './device.ts';
import { skillText } from './registry/harness.ts';

/** Ids, names and codes that stand for one account's things. */
export interface Things {
  skill: string;
  persona: string;
  digest: string;
  cursor: string;
  device: string;
  /** Of a device that this account has let in, and what that device polls with. */
  code: string;
  deviceCode: string;
  token: string;
  session: string;
  passkey: string;
  identity: string;
  invitation: string;
  application: string;
  /** It has a skill of its own, mine.md. */
  server: string;
}

/** One of everything that an account can have. */
export async function makeThings(api: TestApi, account: string): Promise<Things> {
  const token = await api.token(Scope.options, account);
  const json = async (method: string, path: string, body?: unknown) => {
    const { status, json, text } = await api.call(`/api/v1${path}`, { method, token, body });
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return json;
  };
  const created = await json('POST', '/items', {
    kind: 'skill',
    files: { 'SKILL.md': { text: skillText('mine', 'Not theirs to see.') } },
  });
  await json('POST', '/items', {
    kind: 'persona',
    name: 'my-persona',
    description: 'Not theirs to see.',
    instructions: 'Be.',
  });

  const waiting = await TestDevice.make();
  const ask = { method: 'POST', device: waiting, body: { name: 'theirs to see', platform: 'p' } };
  await api.call('/api/v1/pairings', ask);
  const { json: pairing } = await api.call('/api/v1/pairings', ask);
  await json('POST', `/pairings/${pairing.user_code}/approve`);

  await json('POST', '/servers', { name: 'my-server', upstream: 'https://mcp.example.com/mcp' });
  const text = '---\nname: mine\ndescription: Not theirs to see.\nreferences_tools: [search]\n---\n\nMine.\n';
  await json('PUT', '/servers/my-server/skills/mine.md', { text });

  const { id: session } = await signedIn(api, account);
  const createdAt = api.clock.now;
  const subject = newId();
  await api.db
    .insert(identities)
    .values({ issuer: 'https://id.example.com', subject, accountId: account, name: 'me', createdAt });
  await json('POST', '/invitations', { name: 'a guest' });
  const application = newId();
  await api.db.insert(applications).values({
    id: application,
    accountId: account,
    clientId: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    name: 'Claude',
    host: 'claude.ai',
    resource: 'http://localhost:8787/mcp',
    scopes: ['skills:read'],
    readOnly: false,
    connectedAt: createdAt,
  });
  return {
    skill: 'mine',
    persona: 'my-persona',
    digest: created.item.files[0].digest,
    cursor: created.cursor,
    device: (await api.pair(account)).id,
    code: pairing.user_code,
    deviceCode: pairing.device_code,
    token: (await json('GET', '/tokens')).tokens[0].id,
    session,
    passkey: (await json('GET', '/passkeys')).passkeys[0].id,
    identity: (await json('GET', '/identities')).identities[0].id,
    invitation: (await json('GET', '/invitations')).invitations[0].id,
    application,
    server: 'my-server',
  };
}
