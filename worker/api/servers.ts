import { type Context as Call, Hono } from 'hono';
import { z } from 'zod';
import { CLIENTS } from '../../schema/clients.ts';
import { RegistryError } from '../../schema/errors.ts';
import {
  DeclaredSkillBody,
  DeclaredSkillFile,
  type Server,
  ServerBody,
  type ServerConnection,
  ServerEditBody,
  type ServerList,
  type ServerPreview,
} from '../../schema/servers.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { beginConnect } from '../gateway/connect.ts';
import { openSession } from '../gateway/open.ts';
import { previewServer } from '../gateway/preview.ts';
import { getServerSkill, putServerSkill, removeServerSkill } from '../registry/server-skills.ts';
import {
  addServer,
  editServer,
  getServer,
  type KnownServer,
  listServers,
  removeServer,
} from '../registry/servers.ts';
import { bodyOf, queryOf } from './input.ts';

/**
 * Other MCP servers, under `/servers`. Reading needs the scope `skills:read`, writing `skills:write`; what sets a
 * credential also needs a passkey that was checked minutes ago, where a browser's session asks. Shapes are in
 * `schema/servers.ts`. Another account's servers are `not_found`. No answer holds a credential.
 */
export const servers = new Hono<AppEnv>();

const Which = z.object({
  client: z
    .string()
    .refine((id) => CLIENTS.some((client) => client.id === id), 'it is the id of a known client')
    .optional(),
});

/** → `ServerList`, by name. */
servers.get('/', async (c) => {
  const listed = await listServers(await callerOf(c));
  return c.json({ servers: listed.map((server) => told(c, server)) } satisfies ServerList);
});

/** `ServerBody` → 201 `Server`. Errors: `name_taken`, `invalid_input`, `too_large`, `credential`, `passkey_required`. */
servers.post('/', async (c) => {
  const ctx = await callerOf(c);
  const server = await addServer(ctx, c.var.deps.servers, await bodyOf(c, ServerBody));
  const answer: Server = told(c, server);
  return c.json(answer, 201, { location: `${new URL(c.req.url).pathname}/${server.name}` });
});

/** → `Server`. */
servers.get('/:name', async (c) => {
  const answer: Server = told(c, await getServer(await callerOf(c), c.req.param('name')));
  return c.json(answer);
});

/** `ServerEditBody` → `Server`. Errors: `invalid_input`, `credential`, `passkey_required`. */
servers.patch('/:name', async (c) => {
  const ctx = await callerOf(c);
  const body = await bodyOf(c, ServerEditBody);
  const answer: Server = told(c, await editServer(ctx, c.var.deps.servers, c.req.param('name'), body));
  return c.json(answer);
});

/** → 204: the server goes with its credential and its skills. */
servers.delete('/:name', async (c) => {
  await removeServer(await callerOf(c), c.req.param('name'));
  return c.body(null, 204);
});

/**
 * `?client=` → `ServerPreview`: each tool's description as that client gets it, or as every known kind of client does.
 * The server is asked for its tools, and for its graph where a skill wants to know. Errors: `unavailable`.
 */
servers.get('/:name/preview', async (c) => {
  const { client } = queryOf(c, Which);
  const session = await openSession(await callerOf(c), c.var.deps, c.req.param('name'));
  const answer: ServerPreview = await previewServer(session, client);
  return c.json(answer);
});

/**
 * → `ServerConnection`: the address where the person lets the registry in, over OAuth; from there they come back to the
 * account page, in the browser in which they are signed in. Errors: `invalid_input`, `passkey_required`, `unavailable`.
 */
servers.post('/:name/connect', async (c) => {
  const ctx = await callerOf(c);
  const url = await beginConnect(ctx, c.var.deps, c.req.param('name'), new URL(c.req.url).origin);
  return c.json({ authorize_url: url.href } satisfies ServerConnection);
});

/** → the text of a skill that is declared for this server. */
servers.get('/:name/skills/:file', async (c) => {
  return c.text(await getServerSkill(await callerOf(c), c.req.param('name'), c.req.param('file')));
});

/** `DeclaredSkillBody` → `Server`. Errors: `invalid_front_matter` for what could not ride, `too_large`, `credential`. */
servers.put('/:name/skills/:file', async (c) => {
  const ctx = await callerOf(c);
  const file = DeclaredSkillFile.safeParse(c.req.param('file'));
  if (!file.success) {
    throw new RegistryError(
      'invalid_path',
      'A skill of a server is one plain file name that ends in .md; choose another name.',
    );
  }
  const { text } = await bodyOf(c, DeclaredSkillBody);
  const answer: Server = told(c, await putServerSkill(ctx, c.req.param('name'), file.data, text));
  return c.json(answer);
});

/** → 204. */
servers.delete('/:name/skills/:file', async (c) => {
  await removeServerSkill(await callerOf(c), c.req.param('name'), c.req.param('file'));
  return c.body(null, 204);
});

function told(c: Call<AppEnv>, server: KnownServer): Server {
  return { ...server, url: `${new URL(c.req.url).origin}/mcp/${server.name}` };
}
