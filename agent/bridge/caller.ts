import { CLIENT_INFO_META_KEY, type JSONRPCRequest } from '@modelcontextprotocol/client';
import { type ClientRow, recogniseClient } from '../../schema/clients.ts';

/** The program on the other side of stdin, and whom it is served to. */
export interface Caller {
  client: ClientRow | null;
  wsl: boolean;
  /** What the registry is told about it; believed for the device's proof that goes with it. */
  headers: Record<string, string>;
}

/** Learns who calls: `initialize` says it once, and each request does since revision 2026-07-28. */
export function callerReader(env: Readonly<Record<string, string | undefined>>) {
  // Only what `repertoire connect` set: an inherited variable says where this process lives, not whom it serves.
  const distribution = env.REPERTOIRE_WSL_DISTRO ?? '';
  let info: { name: string; version: string } | null = null;
  return ({ method, params }: Pick<JSONRPCRequest, 'method' | 'params'>): Caller => {
    const said = method === 'initialize' ? params?.clientInfo : params?._meta?.[CLIENT_INFO_META_KEY];
    const { name, version } = (said ?? {}) as { name?: unknown; version?: unknown };
    if (typeof name === 'string' && name !== '') {
      info = { name, version: typeof version === 'string' ? version : '' };
    }
    return {
      client: recogniseClient({ name: info?.name }),
      wsl: distribution !== '',
      headers: {
        ...(info
          ? { 'Repertoire-Client': `${plain(info.name)}/${plain(info.version).replaceAll('/', '-')}` }
          : {}),
        ...(distribution === '' ? {} : { 'Repertoire-WSL': plain(distribution) }),
      },
    };
  };
}

/** A header value takes no line breaks, and not every character. */
function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').trim();
}
