import { CLIENTS, type ClientRow } from '../../schema/clients.ts';
import { descriptionCap } from '../../schema/riding/delivery.ts';
import type { ServerPreview } from '../../schema/servers.ts';
import { skillsTool } from '../mcp/skills-tool.ts';
import type { ServerSession } from './session.ts';
import { exposed } from './shown-tools.ts';
import { composed } from './tools.ts';

const CHARS_PER_TOKEN = 4;

/**
 * What clients are told of a server's tools: of the client with this id, or of each that has a cap of its own and of one
 * that is not known. @throws RegistryError `unavailable`
 */
export async function previewServer(session: ServerSession, id: string | undefined): Promise<ServerPreview> {
  const listed = await session.listed();
  const shown = session.shown(listed);
  const riding = await session.riding(shown);
  const clients: (ClientRow | null)[] =
    id === undefined
      ? [...CLIENTS.filter((client) => descriptionCap(client) !== null), null]
      : CLIENTS.filter((client) => client.id === id);
  const leftOut = listed.leftOut.map((message) => ({
    severity: 'warning' as const,
    code: 'left-out',
    message,
  }));
  return {
    stale: listed.staleSince !== null,
    clients: await Promise.all(
      clients.map(async (client) => {
        const { tool: loader } = await skillsTool(session.ctx, { client, wsl: false });
        const { tools, rides, diagnostics } = composed(
          session,
          [...shown.tools, loader],
          riding.active,
          client,
        );
        const cap = descriptionCap(client);
        const names = await exposed(tools);
        return {
          client: client?.id ?? null,
          title: client?.title ?? 'Any other client',
          cap,
          tools: tools.map(({ name, description = '' }, index) => {
            const ride = rides.find(({ tool }) => tool === name);
            return {
              name: names[index]?.name ?? name,
              description,
              length: description.length,
              tokens: Math.ceil(description.length / CHARS_PER_TOKEN),
              over_cap: cap !== null && description.length > cap,
              base_length: ride?.baseLength ?? description.length,
              form: ride?.form ?? null,
              skills: (ride?.skills ?? []).map((skill) => ({ ...skill })),
            };
          }),
          notes: [...leftOut, ...riding.diagnostics, ...shown.diagnostics, ...diagnostics],
        };
      }),
    ),
  };
}
