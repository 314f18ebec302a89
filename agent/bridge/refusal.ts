import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client';

/** Says no to a request in one sentence: where a model can read it for a tool call, as an error of the protocol else. */
export function refusal({ id, method, params }: JSONRPCRequest, sentence: string): JSONRPCMessage {
  const jsonrpc = '2.0';
  if (method !== 'tools/call') {
    return { jsonrpc, id, error: { code: ProtocolErrorCode.InternalError, message: sentence } };
  }
  const modern = params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;
  const result = { content: [{ type: 'text', text: sentence }], isError: true };
  return { jsonrpc, id, result: modern ? { resultType: 'complete', ...result } : result };
}
