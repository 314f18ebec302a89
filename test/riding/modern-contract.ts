import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import type { Host, Setup } from './contract.ts';
import { modernServer } from './modern-server.ts';

/** What every host of the riding engine does for a server that speaks revision 2026-07-28 and nothing older. */
export function modernContract(host: Host): void {
  const open = (upstream: string, setup: Partial<Setup>) =>
    host.open({ upstream, manifest: { skills: true }, skills: {}, client: 'someone', ...setup });

  describe(`a server of revision 2026-07-28 alone: ${host.name}`, () => {
    test.each(['modern', 'legacy'] as const)(
      'serves a %s client: lists, calls, what is repeated in headers',
      async (era) => {
        const { url } = await modernServer();
        const text = '---\nname: deploy\ndescription: When to deploy.\n---\n\nSo.\n';
        const { client } = await open(url, { era, skills: { 'deploy.md': text } });
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
      },
    );

    test('what it has to ask comes back to a client of its revision, and the answer and the log level go there', async () => {
      const { url, levels } = await modernServer();
      const asked: unknown[] = [];
      const { client } = await open(url, {
        era: 'modern',
        capabilities: { elicitation: { form: {} } },
        prepare: (each) =>
          each.setRequestHandler('elicitation/create', async ({ params }) => {
            asked.push(params.message);
            return { action: 'accept', content: { place: 'Oslo' } };
          }),
      });
      const deployed = await client.callTool({
        name: 'deploy',
        arguments: {},
        _meta: { [LOG_LEVEL_META_KEY]: 'warning' },
      });
      expect(deployed.content).toEqual([{ type: 'text', text: 'to Oslo' }]);
      expect(asked).toEqual(['Where?']);
      expect(levels).toEqual(['warning', 'warning']);
    });

    test('a client of its revision that cannot be asked is told so by the server', async () => {
      const { url } = await modernServer();
      const { client } = await open(url, { era: 'modern' });
      await expect(client.callTool({ name: 'deploy', arguments: {} })).rejects.toMatchObject({
        code: -32021,
      });
    });
  });
}
