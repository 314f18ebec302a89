import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { unreachable } from '../../../agent/serve/upstream-error.ts';

test.each([
  [new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out'), 'it did not answer in time'],
  [new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed'), 'it ended before it answered'],
  [Object.assign(new Error('spawn x ENOENT'), { code: 'ENOENT' }), 'there is no such program'],
  [new TypeError('fetch failed', { cause: new Error('read ECONNRESET') }), 'read ECONNRESET'],
])('a server that cannot be reached, in one sentence: %s', (error, why) => {
  const { message } = unreachable('notes', { label: 'npx', open: () => expect.fail() }, error);
  expect(message).toBe(`notes (npx) cannot be reached: ${why}.`);
});
