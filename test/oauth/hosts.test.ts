import { AuthorizationResponseError } from 'oauth4webapi';
import { expect } from 'vitest';
import { browserTests } from '../browser/harness.ts';
import {
  APPLICATIONS,
  type ApplicationFacts,
  CLAUDE_AI,
  CLAUDE_CODE_REGISTERED,
  documentHosts,
} from './applications.ts';
import { answerConsent, openConsent, readConsent } from './consent.ts';
import { Host, knock } from './host.ts';
import { DEPLOY, READ_DEPLOY, useTool } from './tool.ts';

/** The applications that people use, from the address of a registry to the end of the connection. */
const { site, test } = await browserTests({ network: documentHosts });
const resource = `${site?.url}/mcp`;

test.each(APPLICATIONS)(
  '$title is let in on its consent page, works, refreshes, and is out once it revokes',
  async ({ callback, by, name, shown }) => {
    const { page } = await site.member('Ada');
    const host = await Host.meet({ resource, callback, by });
    const consent = await openConsent(page, await host.authorizationUrl());
    for (const fact of [`Connect ${shown}`, new URL(callback).host, 'Ada']) expect(consent).toContain(fact);
    const back = await answerConsent(page, callback);
    expect(back.origin + back.pathname).toBe(callback);
    expect(back.searchParams.get('iss')).toBe(host.issuer);
    const first = await host.redeem(back);
    expect(first.scope).toBe('skills:read skills:write');

    const session = await host.connect(first, name);
    await useTool(session, 'skill_edit', DEPLOY);
    await session.close();
    const next = await host.refresh(first);
    expect(next.access).not.toBe(first.access);
    const later = await host.connect(next, name);
    expect(await useTool(later, 'skills', READ_DEPLOY)).toContain(DEPLOY.instructions);
    await later.close();

    await page.goto('/account');
    const connected = page.getByRole('list', { name: 'Connected applications' });
    expect(await connected.getByRole('listitem').count()).toBe(1);
    await host.revoke(next);
    for (const { access } of [first, next]) expect((await knock(resource, access)).status).toBe(401);
    await expect(host.refresh(next)).rejects.toMatchObject({ error: 'invalid_grant' });
    await page.reload();
    expect(await connected.count()).toBe(0);
  },
);

test('a person who is signed out signs in on the way; denying sends the application away', async () => {
  const person = await site.member();
  const { page } = person;
  await person.signOut();
  const host = await Host.meet({ resource, ...CLAUDE_AI });
  await page.goto((await host.authorizationUrl()).href);
  await person.signIn();
  expect(await readConsent(page)).toContain('Connect claude.ai');
  const back = await answerConsent(page, CLAUDE_AI.callback, 'Deny');
  expect(back.searchParams.get('iss')).toBe(host.issuer);
  const denied = host.redeem(back);
  await expect(denied).rejects.toThrow(AuthorizationResponseError);
  await expect(denied).rejects.toMatchObject({ error: 'access_denied' });
});

test('the client id of a token fits what is told, before the name of the handshake; that counts where the id is nobody’s', async () => {
  const { page } = await site.member();
  const claude = await letIn(CLAUDE_AI);
  const registered = await letIn(CLAUDE_CODE_REGISTERED);
  const writing = await claude('claude-ai');
  await useTool(writing, 'skill_edit', DEPLOY);
  await writing.close();

  // claude.ai shows its model the tools alone, Claude Code the server's instructions.
  const listing = `deploy: ${DEPLOY.description}`;
  const ofClaude = await told(claude, 'claude-ai');
  expect(ofClaude.tool).toContain(listing);
  expect(await told(claude, 'claude-code')).toEqual(ofClaude);
  const ofClaudeCode = await told(registered, 'claude-code');
  expect(ofClaudeCode.tool).not.toContain(listing);
  expect(ofClaudeCode.instructions).toContain(listing);
  expect(await told(registered, 'claude-ai')).toEqual(ofClaude);

  async function letIn(application: ApplicationFacts) {
    const host = await Host.meet({ resource, ...application });
    await openConsent(page, await host.authorizationUrl());
    const tokens = await host.redeem(await answerConsent(page, application.callback));
    // Since this revision each request names its client, `tools/list` too.
    return (name: string) => host.connect(tokens, name, { pin: '2026-07-28' });
  }
});

async function told(connect: (name: string) => ReturnType<Host['connect']>, name: string) {
  const session = await connect(name);
  const { tools } = await session.listTools();
  const instructions = session.getInstructions();
  await session.close();
  return { instructions, tool: tools.find((tool) => tool.name === 'skills')?.description };
}
