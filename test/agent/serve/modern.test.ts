import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import { serveHere, skillFile } from './harness.ts';
import { modernServer } from './modern-server.ts';

const skills = { 'deploy.md': skillFile({ name: 'deploy', description: 'When to deploy.' }) };

test.each(['modern', 'legacy'] as const)(
  'a server of revision 2026-07-28 alone serves a %s client: lists, calls, what it has to ask, changes',
  async (era) => {
    const { url, handler, levels } = await modernServer();
    const asked: unknown[] = [];
    const { client, heard } = await serveHere({
      manifest: { url, skills: true },
      skills,
      era,
      options: { capabilities: { elicitation: { form: {} } } },
      prepare: (each) =>
        each.setRequestHandler('elicitation/create', async ({ params }) => {
          asked.push(params.message);
          return { action: 'accept', content: { place: 'Oslo' } };
        }),
    });
    expect(client.getInstructions()).toContain('The server itself.');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['deploy', 'sum', 'mirrored', 'skills']);
    expect(tools[0]?.description).toMatch(/^Deploys\.\n\n<!-- mcp-skill:deploy -->/);
    expect(await client.callTool({ name: 'sum', arguments: { a: 3 } })).toMatchObject({
      content: [{ type: 'text', text: '3' }],
      structuredContent: { a: 3 },
      _meta: { 'example.com/x': 1 },
    });

    // The server refuses the call when header and argument differ.
    for (const region of ['eu-1', ' Ünder ', '=?base64?eA==?=', '']) {
      const args = { region, inner: { count: 7 } };
      const { content } = await client.callTool({ name: 'mirrored', arguments: args });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(args) }]);
    }

    if (era === 'legacy') await client.setLoggingLevel('warning');
    const level = era === 'modern' ? { _meta: { [LOG_LEVEL_META_KEY]: 'warning' } } : {};
    const deployed = await client.callTool({ name: 'deploy', arguments: {}, ...level });
    expect(deployed.content).toEqual([{ type: 'text', text: 'to Oslo' }]);
    expect(asked).toEqual(['Where?']);
    expect(levels).toEqual(['warning', 'warning']);

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

test('a client of revision 2026-07-28 that cannot be asked is told so by the server', async () => {
  const { url } = await modernServer();
  const { client } = await serveHere({ manifest: { url }, era: 'modern' });
  await expect(client.callTool({ name: 'deploy', arguments: {} })).rejects.toMatchObject({ code: -32021 });
});
