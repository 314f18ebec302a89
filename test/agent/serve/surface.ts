import type { Client, Result, StandardSchemaV1Sync } from '@modelcontextprotocol/client';

const AS_IT_IS: StandardSchemaV1Sync<unknown, Result> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Result }) },
};

/** An answer as JSON text, and an error as code, message and data, so that two can be compared to the byte. */
export async function answer(
  client: Client,
  method: string,
  params?: Record<string, unknown>,
): Promise<string> {
  try {
    return JSON.stringify(await client.request({ method, ...(params && { params }) }, AS_IT_IS));
  } catch (error) {
    const { code, message, data } = error as { code: unknown; message: string; data: unknown };
    return JSON.stringify({ error: { code, message, data } });
  }
}

const call = (name: string, args: Record<string, unknown>, meta?: Record<string, unknown>) =>
  ['tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }] as const;

/** Requests of every kind to the reference server, whose answers do not depend on the time. */
export const EVERYTHING: readonly (readonly [method: string, params?: Record<string, unknown>])[] = [
  ['ping'],
  ['tools/list'],
  ['resources/list'],
  ['resources/templates/list'],
  ['prompts/list'],
  call('echo', { message: 'grüße 🌍  ' }),
  call('echo', { message: 'with meta' }, { 'example.com/trace': { deep: [1, null, 'x'] } }),
  call('get-annotated-message', { messageType: 'error', includeImage: true }),
  call('get-resource-links', { count: 3 }),
  call('get-structured-content', { location: 'Chicago' }),
  call('get-sum', { a: 1.5, b: -2 }),
  call('get-tiny-image', {}),
  call('gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' }),
  call('trigger-long-running-operation', { duration: 0.02, steps: 2 }),
  call('get-roots-list', {}),
  call('trigger-sampling-request', { prompt: 'say', maxTokens: 7 }),
  call('trigger-elicitation-request', {}),
  call('get-sum', { a: 'no number' }),
  call('no-such-tool', { a: 1 }),
  ['tools/call', { name: 'echo' }],
  ['tools/call', {}],
  ['resources/read', { uri: 'demo://resource/static/document/features.md' }],
  ['resources/read', { uri: 'demo://resource/dynamic/text/none' }],
  ['resources/read', { uri: 'demo://nowhere' }],
  ['resources/subscribe', { uri: 'demo://resource/dynamic/text/1' }],
  ['resources/unsubscribe', { uri: 'demo://resource/dynamic/text/1' }],
  ['prompts/get', { name: 'simple-prompt' }],
  ['prompts/get', { name: 'args-prompt', arguments: { city: 'Oslo', state: 'N' } }],
  ['prompts/get', { name: 'args-prompt', arguments: {} }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'name', value: 'A' },
      context: { arguments: { department: 'Engineering' } },
    },
  ],
  [
    'completion/complete',
    {
      ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '7' },
    },
  ],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'a', value: '' } }],
  ['logging/setLevel', { level: 'warning' }],
  ['logging/setLevel', { level: 'loud' }],
  ['tasks/list'],
  ['tasks/get', { taskId: 'none' }],
  ['example/unknown', { a: 1 }],
];

/** A client that can do everything that a server may ask for, and notes what it was asked. */
export function able(asked: unknown[]): { capabilities: object; prepare: (client: Client) => void } {
  return {
    capabilities: {
      sampling: {},
      elicitation: { form: {}, url: {} },
      roots: { listChanged: true },
      experimental: { 'example.com/x': {} },
    },
    prepare(client) {
      client.setRequestHandler('sampling/createMessage', async ({ params }) => {
        asked.push(params);
        return { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } };
      });
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params);
        return { action: 'accept', content: { name: 'Ada', check: true } };
      });
      client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///r', name: 'r' }] }));
    },
  };
}
