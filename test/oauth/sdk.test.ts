import { auth, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { browserTests, confirm, told } from '../browser/harness.ts';
import { answerConsent, type Button, openConsent } from './consent.ts';
import { CALLBACK, DOCUMENT, NAME, SdkProvider } from './sdk-provider.ts';
import { DEPLOY, READ_DEPLOY, useTool } from './tool.ts';

/** The official clients' own OAuth, as every program that is built on them has it. */
const { site, test } = await browserTests({
  network: async ({ url }) =>
    url === DOCUMENT.client_id ? Response.json(DOCUMENT) : new Response(null, { status: 404 }),
});
const resource = new URL(`${site?.url}/mcp`);

interface Program {
  readonly client: Client;
  connect(): Promise<void>;
  /** Takes what the browser brings back from the consent page. */
  finish(back: URL): Promise<void>;
}

function newProgram(provider: SdkProvider): Program {
  const client = new Client({ name: 'program', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(resource, { authProvider: provider });
  return {
    client,
    connect: () => client.connect(transport),
    finish: ({ searchParams }) => transport.finishAuth(searchParams),
  };
}

function oldProgram(provider: SdkProvider): Program {
  const client = new OldClient({ name: 'program', version: '1' });
  const transport = new OldTransport(resource, { authProvider: provider as never });
  return {
    client: client as never,
    connect: () => client.connect(transport as never),
    finish: ({ searchParams }) => transport.finishAuth(searchParams.get('code') ?? ''),
  };
}

test.each([
  ['2.x client, registered dynamically,', newProgram, false],
  ['2.x client, known by its document,', newProgram, true],
  ['1.x client', oldProgram, false],
] as const)(
  'the %s signs in by itself, refreshes, and has to ask again once it is disconnected',
  async (_, open, byDocument) => {
    const { page } = await site.member();
    const provider = new SdkProvider({ byDocument });
    const { client } = await letIn(page, provider, open);
    await useTool(client, 'skill_edit', DEPLOY);

    const before = provider.tokens()?.refresh_token;
    provider.spoilAccess();
    expect(await useTool(client, 'skills', READ_DEPLOY)).toContain(DEPLOY.instructions);
    expect(provider.tokens()?.refresh_token).not.toBe(before);
    expect(provider.takeAsked()).toBeUndefined();

    await page.goto('/account');
    await confirm(page, `Disconnect ${NAME}`, 'Disconnect');
    await told(page, 'has no access any more');
    await expect(useTool(client, 'skills', READ_DEPLOY)).rejects.toThrow('Unauthorized');
    expect(provider.takeAsked()?.searchParams.get('scope')).toBe('skills:read skills:write');
    await client.close();
  },
);

test('a client that asked for reading is asked for more when it edits, and its person decides', async () => {
  const { page } = await site.member();
  const provider = new SdkProvider({ byDocument: false });
  expect(await auth(provider, { serverUrl: resource, scope: 'skills:read' })).toBe('REDIRECT');
  const { searchParams } = await consent(page, provider, { says: 'Ask you later to let it edit them' });
  const [authorizationCode, iss] = [searchParams.get('code') ?? '', searchParams.get('iss') ?? ''];
  expect(await auth(provider, { serverUrl: resource, authorizationCode, iss })).toBe('AUTHORIZED');
  expect(provider.tokens()?.scope).toBe('skills:read');

  const { client, connect, finish } = newProgram(provider);
  await connect();
  expect(await toolsOf(client)).toEqual(['skills', 'skill_edit']);
  await expect(useTool(client, 'skill_edit', DEPLOY)).rejects.toThrow('Unauthorized');
  expect(await useTool(client, 'skills', { action: 'list' })).not.toContain(DEPLOY.name);
  await finish(await consent(page, provider));
  expect(provider.tokens()?.scope).toBe('skills:read skills:write');
  await useTool(client, 'skill_edit', DEPLOY);
  expect(await useTool(client, 'skills', READ_DEPLOY)).toContain(DEPLOY.instructions);
  await client.close();

  await page.goto('/account');
  const connected = page.getByRole('list', { name: 'Connected applications' });
  expect(await connected.getByRole('listitem').count()).toBe(1);
});

test('an application that its person limits to reading does not see skill_edit, nor edit by it', async () => {
  const { page } = await site.member();
  const provider = new SdkProvider({ byDocument: false });
  const { client } = await letIn(page, provider, newProgram, 'Allow reading only');
  expect(provider.tokens()?.scope).toBe('skills:read');
  expect(await toolsOf(client)).toEqual(['skills']);
  await expect(useTool(client, 'skill_edit', DEPLOY)).rejects.toThrow('Unauthorized');
  expect(await useTool(client, 'skills', { action: 'list' })).not.toContain(DEPLOY.name);
  await client.close();
});

/** From the first refusal to a session. */
async function letIn(
  page: Page,
  provider: SdkProvider,
  open: (provider: SdkProvider) => Program,
  button?: Button,
): Promise<Program> {
  const refused = open(provider);
  await expect(refused.connect()).rejects.toThrow('Unauthorized');
  await refused.finish(await consent(page, provider, { button }));
  const program = open(provider);
  await program.connect();
  return program;
}

/** Goes where the client sends its person. */
async function consent(
  page: Page,
  provider: SdkProvider,
  { button = 'Allow', says = NAME }: { button?: Button | undefined; says?: string } = {},
): Promise<URL> {
  const address = provider.takeAsked();
  if (!address) throw new Error('The client did not ask for its person.');
  expect(await openConsent(page, address)).toContain(says);
  return answerConsent(page, CALLBACK, button);
}

async function toolsOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}
