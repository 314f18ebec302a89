import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type JSONRPCRequest,
} from '@modelcontextprotocol/server';

type Era = 'legacy' | 'modern';

/** The program that is served: the server is told of it as if nothing stood between. */
export interface Caller {
  era: Era;
  info: Implementation;
  capabilities: ClientCapabilities;
  /** Protocol revision that it asked for. */
  version?: string | undefined;
}

/** Who opened: `initialize` says it in its parameters, and each request of the newer revision in its envelope. */
export function callerOf(opening: JSONRPCRequest | null, era: Era, version: string): Caller {
  const params = opening?.params ?? {};
  const meta = params._meta ?? {};
  const [info, capabilities] =
    era === 'modern'
      ? [meta[CLIENT_INFO_META_KEY], meta[CLIENT_CAPABILITIES_META_KEY]]
      : [params.clientInfo, params.capabilities];
  return {
    era,
    info: (info ?? { name: 'repertoire', version }) as Implementation,
    capabilities: (capabilities ?? {}) as ClientCapabilities,
    version: typeof params.protocolVersion === 'string' ? params.protocolVersion : undefined,
  };
}
