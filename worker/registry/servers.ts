import { and, asc, eq, type SQL, sql } from 'drizzle-orm';
import { RegistryError } from '../../schema/errors.ts';
import { StartError } from '../../schema/riding/diagnostic.ts';
import { type Manifest, parseManifest } from '../../schema/riding/manifest.ts';
import {
  SERVER_LIMITS,
  type Server,
  type ServerBody,
  type ServerCredential,
  type ServerEditBody,
} from '../../schema/servers.ts';
import { brokenConstraint, guardBroke } from '../db/client.ts';
import { guards } from '../db/tables/registry.ts';
import { serverSkills, servers } from '../db/tables/servers.ts';
import type { Context } from './context.ts';
import { findCredentials, refuseCredentials } from './credentials.ts';
import { newId } from './random.ts';
import { requirePublicAddress } from './server-address.ts';
import type { Vault } from './vault.ts';

/** What verbs about other servers need besides the caller. */
export interface ServerSurroundings {
  readonly vault: Vault;
  /** Servers on this very machine may be called: for development. */
  readonly loopback: boolean;
}

/** A server without the address under which it is reached here: only the transport knows that. */
export type KnownServer = Omit<Server, 'url'>;

const columns = {
  id: servers.id,
  name: servers.name,
  upstream: servers.upstream,
  manifest: servers.manifest,
  inMain: servers.inMain,
  credentialType: servers.credentialType,
  granted: sql<number>`${servers.grant} is not null`,
  toolsAt: servers.toolsAt,
  tools: sql<number>`json_array_length(${servers.tools})`,
  skills: sql<string>`(select json_group_array(file) from (select ${serverSkills.file} as file from ${serverSkills} where ${serverSkills.serverId} = ${servers.id} order by file))`,
  updatedAt: servers.updatedAt,
} as const;

/** Every server of the account, by name. Needs `skills:read`. */
export async function listServers(ctx: Context): Promise<KnownServer[]> {
  const [rows] = await ctx.batch([selectServers(ctx, eq(servers.accountId, ctx.account))]);
  ctx.require('skills:read');
  return rows.map(toServer);
}

/** One server. Needs `skills:read`. @throws RegistryError `not_found` */
export async function getServer(ctx: Context, name: string): Promise<KnownServer> {
  return toServer(await readServer(ctx, name, 'skills:read'));
}

/**
 * Adds a server. Needs `skills:write`; a credential also needs a passkey that was checked minutes ago.
 * @throws RegistryError `name_taken`, `invalid_input`, `credential`, `too_large` when there are 50 already
 */
export async function addServer(
  ctx: Context,
  { vault, loopback }: ServerSurroundings,
  body: ServerBody,
): Promise<KnownServer> {
  const { name, manifest, in_main: inMain, credential } = body;
  const upstream = requirePublicAddress(body.upstream, { loopback }).href;
  await checkManifest(manifest);
  const { accountId } = await ctx.enter();
  ctx.require('skills:write');
  if (credential.type !== 'none') ctx.requireFreshPasskey();
  const now = ctx.now();
  const id = newId();
  const few = sql`(select count(*) from ${servers} where ${servers.accountId} = ${accountId}) < ${SERVER_LIMITS.servers}`;
  try {
    await ctx.write([
      ctx.db.insert(guards).values({ holds: few as SQL<number> }),
      ctx.db.insert(servers).values({
        id,
        accountId,
        name,
        upstream,
        manifest,
        inMain,
        ...(await sealed(vault, id, credential)),
        version: 1,
        createdAt: now,
        updatedAt: now,
      }),
    ]);
  } catch (error) {
    if (brokenConstraint(error)?.startsWith('UNIQUE')) {
      throw new RegistryError('name_taken', `There is a server named ${name} already; choose another name.`, {
        field: 'name',
      });
    }
    if (!guardBroke(error)) throw error;
    throw new RegistryError(
      'too_large',
      `An account has at most ${SERVER_LIMITS.servers} servers; remove one that is not used any more.`,
    );
  }
  return getServer(ctx, name);
}

/**
 * Changes a server. Needs `skills:write`; a credential also needs a passkey that was checked minutes ago. A credential is
 * for one address: a new address without a credential of its own is refused, unless there was none.
 * @throws RegistryError `not_found`, `invalid_input`, `credential`
 */
export async function editServer(
  ctx: Context,
  { vault, loopback }: ServerSurroundings,
  name: string,
  body: ServerEditBody,
): Promise<KnownServer> {
  const upstream =
    body.upstream === undefined ? undefined : requirePublicAddress(body.upstream, { loopback }).href;
  if (body.manifest !== undefined) await checkManifest(body.manifest);
  const row = await readServer(ctx, name, 'skills:write');
  const { credential } = body;
  if (credential && (credential.type !== 'none' || row.credentialType !== 'none')) ctx.requireFreshPasskey();
  const moves = upstream !== undefined && upstream !== row.upstream;
  if (moves && row.credentialType !== 'none' && !credential) {
    throw new RegistryError(
      'invalid_input',
      `The credential of ${name} is for ${new URL(row.upstream).host}; send one for the new address together with it.`,
      { field: 'credential' },
    );
  }
  const set = {
    ...(upstream === undefined ? {} : { upstream }),
    ...(body.manifest === undefined ? {} : { manifest: body.manifest }),
    ...(body.in_main === undefined ? {} : { inMain: body.in_main }),
    ...(credential ? { ...(await sealed(vault, row.id, credential)), grant: null } : {}),
    ...(moves ? { tools: null, toolsAt: null } : {}),
    version: sql`${servers.version} + 1`,
    updatedAt: moved(ctx),
  };
  await ctx.write([ctx.db.update(servers).set(set).where(eq(servers.id, row.id))]);
  return getServer(ctx, name);
}

/** Removes a server with its credential and its skills. Needs `skills:write`. @throws RegistryError `not_found` */
export async function removeServer(ctx: Context, name: string): Promise<void> {
  const { id } = await readServer(ctx, name, 'skills:write');
  await ctx.write([
    ctx.db.delete(serverSkills).where(eq(serverSkills.serverId, id)),
    ctx.db.delete(servers).where(eq(servers.id, id)),
  ]);
}

/** When a server changed: what is kept of it elsewhere goes by that, so that no two changes are at one time. */
export function moved(ctx: Context): SQL<number> {
  return sql<number>`max(${servers.updatedAt} + 1, ${ctx.now()})`;
}

/** What a credential is sealed for: it opens for this server only. */
export function credentialOwner(serverId: string): string {
  return `server ${serverId} credential`;
}

/** A manifest as the cloud reads it. @throws RegistryError `invalid_input` with its one sentence */
export function readManifest(text: string): Manifest {
  try {
    return parseManifest(text, { source: 'the manifest', host: 'cloud' });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw new RegistryError('invalid_input', error.message, { field: 'manifest' });
  }
}

export async function readServer(ctx: Context, name: string, scope: 'skills:read' | 'skills:write') {
  const [[row]] = await ctx.batch([
    selectServers(ctx, and(eq(servers.accountId, ctx.account), eq(servers.name, name))),
  ]);
  ctx.require(scope);
  if (!row) throw noServer(name);
  return row;
}

export function noServer(name: string): RegistryError {
  return new RegistryError(
    'not_found',
    `There is no server named ${name.slice(0, 100)}; list the servers to see what there is.`,
  );
}

/** Credentials belong where they are encrypted, not into a text that is told again. */
export async function refuseSecrets(path: string, text: string): Promise<void> {
  const findings = await findCredentials([{ path, text }]);
  refuseCredentials(
    findings.filter(({ level }) => level === 'refuse'),
    [],
    false,
  );
}

async function checkManifest(text: string): Promise<void> {
  if (!text.isWellFormed()) {
    throw new RegistryError(
      'invalid_input',
      'The manifest holds half of a surrogate pair; send valid Unicode.',
      {
        field: 'manifest',
      },
    );
  }
  readManifest(text);
  await refuseSecrets('manifest', text);
}

async function sealed(vault: Vault, id: string, credential: ServerCredential) {
  const { type } = credential;
  return {
    credentialType: type,
    credential: type === 'none' ? null : await vault.seal(JSON.stringify(credential), credentialOwner(id)),
  };
}

function selectServers(ctx: Context, which: SQL | undefined) {
  return ctx.db.select(columns).from(servers).where(which).orderBy(asc(servers.name));
}

type Row = Awaited<ReturnType<typeof selectServers>>[number];

function toServer({
  id: _,
  inMain,
  credentialType,
  granted,
  toolsAt,
  tools,
  skills,
  updatedAt,
  ...row
}: Row): KnownServer {
  return {
    ...row,
    in_main: inMain,
    credential: credentialType,
    connected: granted === 1,
    listed: toolsAt === null ? null : { at: toolsAt, tools },
    skills: JSON.parse(skills) as string[],
    updated_at: updatedAt,
  };
}
