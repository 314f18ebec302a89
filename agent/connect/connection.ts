import { join } from 'node:path';
import { z } from 'zod';
import { readJson, writeJson } from '../json-file.ts';
import { changeSettings, readSettings, type StateFiles } from '../state.ts';

/** What `repertoire connect` wrote into one client's configuration, so that it can be taken back. */
export const Connection = z.object({
  path: z.string(),
  entry: z.record(z.string(), z.unknown()),
  /** The change in the text; null where the entry was found as it should be. */
  span: z.object({ before: z.string(), after: z.string() }).nullable(),
  /** The file did not exist. */
  made: z.boolean(),
  /** The container did not exist. */
  contained: z.boolean(),
  /** Outermost folder that did not exist. */
  folder: z.string().nullable(),
});
export type Connection = z.infer<typeof Connection>;

const Connections = z.object({ version: z.literal(1), clients: z.record(z.string(), Connection) });

/** @throws StateError */
export function readConnection(files: StateFiles, client: string): Connection | null {
  return readJson(place(files), Connections)?.clients[client] ?? null;
}

/** Notes what was written for a client, or with null that nothing is there any more, and says so in the settings. */
export function noteConnection(files: StateFiles, client: string, connection: Connection | null): void {
  const kept = readConnection(files, client);
  if (connection === null && kept === null && !readSettings(files).connected.includes(client)) return;
  changeSettings(files, ({ connected }) => ({
    connected: [...connected.filter((id) => id !== client), ...(connection ? [client] : [])],
  }));
  const { [client]: _, ...others } = readJson(place(files), Connections)?.clients ?? {};
  const clients = connection ? { ...others, [client]: connection } : others;
  writeJson(place(files), { version: 1, clients } satisfies z.infer<typeof Connections>);
}

function place({ folder }: StateFiles): string {
  return join(folder, 'connections.json');
}
