import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type ClientRow, recogniseClient } from '../../schema/clients.ts';

/** Which program calls, and from where, as far as it says. */
export interface Caller {
  readonly name: string | undefined;
  readonly version: string;
  readonly client: ClientRow | null;
  /** Served to a WSL distribution, which does not see the device's folders. */
  readonly wsl: boolean;
}

/** Names are kept and shown to people: one that holds control characters or half of a surrogate pair counts as none. */
const Implementation = z.object({
  name: z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u),
  version: z
    .string()
    .regex(/^[^\p{Cc}\p{Cs}]{0,100}$/u)
    .catch(''),
});
const Handshake = z.object({ params: z.object({ clientInfo: Implementation }) });
const Envelope = z.object({
  params: z.object({ _meta: z.object({ [CLIENT_INFO_META_KEY]: Implementation }) }),
});

/**
 * Derives the caller from a request's messages: `initialize` names the client, and so does each request since revision
 * 2026-07-28. `withProof`: the request carries a device's proof, so its bridge is believed which client it speaks for.
 * `clientId`: the OAuth client of a verified token, which counts before any name. A program that has named itself in an
 * `initialize` long ago is told by its user agent, where that begins with the same name.
 */
export function readCaller(
  request: Request,
  messages: readonly unknown[],
  { withProof, clientId }: { withProof: boolean; clientId: string | undefined },
): Caller {
  const info =
    (withProof ? bridged(request.headers.get('repertoire-client')) : null) ??
    messages.map(clientInfo).find((found) => found !== null);
  const [agent] = (request.headers.get('user-agent') ?? '').split('/', 1);
  return {
    name: info?.name,
    version: info?.version ?? '',
    client: recogniseClient({ clientId, name: info?.name ?? agent }),
    wsl: withProof && request.headers.has('repertoire-wsl'),
  };
}

/** `name/version`; a name may hold slashes itself. */
function bridged(header: string | null): z.infer<typeof Implementation> | null {
  if (!header) return null;
  const slash = header.lastIndexOf('/');
  const [name, version] = slash < 1 ? [header, ''] : [header.slice(0, slash), header.slice(slash + 1)];
  return Implementation.safeParse({ name, version }).data ?? null;
}

function clientInfo(message: unknown): z.infer<typeof Implementation> | null {
  const envelope = Envelope.safeParse(message);
  if (envelope.success) return envelope.data.params._meta[CLIENT_INFO_META_KEY] ?? null;
  const handshake = Handshake.safeParse(message);
  return handshake.success ? handshake.data.params.clientInfo : null;
}
