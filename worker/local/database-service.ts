import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Hrana } from './hrana.ts';

/** Way to the database, in workerd's terms. */
export interface DatabaseService {
  readonly address: string;
  close(): void;
}

/** `sun_path` holds 104 bytes on macOS and 108 on Linux, closing NUL included. */
const SOCKET_BYTES = 103;

/**
 * Serves the database on a Unix socket in the data folder, which workerd reaches by itself: half the time of a call
 * through Miniflare. Null where there is no such socket (Windows), or where the folder's path is too long for one.
 */
export async function serveDatabase(hrana: Hrana, folder: string): Promise<DatabaseService | null> {
  const path = join(folder, 'database.sock');
  if (process.platform === 'win32' || Buffer.byteLength(path) > SOCKET_BYTES) return null;
  // What a crash left. Whoever has the database open is alone with the folder.
  await rm(path, { force: true });
  const server = createServer((request, response) => void answer(hrana, request, response));
  server.keepAliveTimeout = 0;
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  // Nobody but the owner may connect, whatever the folder allows.
  const mask = process.umask(0o177);
  server.listen(path, listening.resolve);
  process.umask(mask);
  await listening.promise;
  return {
    address: `unix:${path}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(hrana: Hrana, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url: path = '/' } = request;
  try {
    const { status, type, body } = await hrana.serve({ method, path, body: await text(request) });
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  } catch {
    response.destroy();
  }
}
