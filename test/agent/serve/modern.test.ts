import { expect, test, vi } from 'vitest';
import { modernServer } from '../../riding/modern-server.ts';
import { serveHere } from './harness.ts';

test('what a server of revision 2026-07-28 has to ask in a result is asked of a legacy client in a request', async () => {
  const { url, levels } = await modernServer();
  const asked: unknown[] = [];
  const { client } = await serveHere({
    manifest: { url },
    options: { capabilities: { elicitation: { form: {} } } },
    prepare: (each) =>
      each.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: { place: 'Oslo' } };
      }),
  });
  await client.setLoggingLevel('warning');
  const deployed = await client.callTool({ name: 'deploy', arguments: {} });
  expect(deployed.content).toEqual([{ type: 'text', text: 'to Oslo' }]);
  expect(asked).toEqual(['Where?']);
  expect(levels).toEqual(['warning', 'warning']);
});

test.each(['modern', 'legacy'] as const)(
  'what changes at a server of revision 2026-07-28 is heard by a %s client',
  async (era) => {
    const { url, handler } = await modernServer();
    const { client, heard } = await serveHere({ manifest: { url, skills: true }, era });
    const listening = { toolsListChanged: true, resourceSubscriptions: ['demo://r'] };
    if (era === 'modern') await client.listen(listening);
    else await client.subscribeResource({ uri: 'demo://r' });
    const methods = () => heard.map(({ method }) => method);
    await vi.waitFor(() => {
      handler.notify.resourceUpdated('demo://r');
      handler.notify.toolsChanged();
      expect(methods()).toContain('notifications/resources/updated');
      expect(methods()).toContain('notifications/tools/list_changed');
    });
  },
);
