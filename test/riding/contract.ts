import type { Client, ClientCapabilities } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { GRAPH, type GraphServer, startGraphServer } from './graph-server.ts';
import { CODE_GRAPH, FIND_PAPERS } from './guide-skills.ts';
import { skillFile } from './skill-file.ts';

export interface Setup {
  /** Streamable HTTP address of the server behind. */
  upstream: string;
  /** Keys of the manifest beside those that name the server. */
  manifest: Record<string, unknown>;
  /** Skill files by name, in a layer above our own skills. */
  skills: Record<string, string>;
  /** Name that the client gives itself. */
  client: string;
  /** Of the protocol, in which the client speaks; the host's own choice otherwise. */
  era?: 'legacy' | 'modern';
  capabilities?: ClientCapabilities;
  /** Called before the handshake. */
  prepare?: (client: Client) => void;
}

/** Something that puts skills on another server's tools. */
export interface Host {
  name: string;
  /** A client of the served server, ended with the test. */
  open(setup: Setup): Promise<{
    client: Client;
    /** Methods of the notices heard so far; null where the host cannot send any. */
    notices: (() => string[]) | null;
  }>;
}

const CODE = { Function: ['name'], Class: ['name'] };
const PAPERS = { Paper: ['title', 'year'] };
const BASE = 'Runs a query.';

/** What every host of the riding engine does, whatever stands between it and its clients. */
export function ridingContract(host: Host): void {
  let server: GraphServer;
  beforeAll(async () => {
    server = await startGraphServer();
  });
  afterAll(() => server.stop());
  let base: ReadonlyMap<string, string>;
  beforeAll(() => {
    base = new Map(server.tools);
  });
  beforeEach(() => {
    server.graph = {};
    server.tools.clear();
    for (const [name, text] of base) server.tools.set(name, text);
  });

  function open(setup: Partial<Setup> = {}) {
    const { manifest = {}, skills = {}, client = 'someone' } = setup;
    return host.open({
      upstream: server.url,
      manifest: { skills: true, graph: GRAPH, ...manifest },
      skills,
      client,
    });
  }

  async function descriptions(client: Client): Promise<Map<string, string>> {
    const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
    return new Map(tools.map(({ name, description = '' }) => [name, description]));
  }

  const riders = (all: Map<string, string>, skill: string) =>
    [...all].filter(([, text]) => text.includes(`<!-- mcp-skill:${skill} -->`)).map(([name]) => name);

  describe(`riding on tools: ${host.name}`, () => {
    test("3.2, bug 7, bug 10: the guide's worked example find_papers rides on a graph with papers, in these bytes on every host, and on no other", async () => {
      server.graph = PAPERS;
      const skills = { 'find_papers.md': FIND_PAPERS };
      const { client } = await open({ skills });
      expect((await descriptions(client)).get('cypher_query')).toBe(
        [
          BASE,
          '<!-- mcp-skill:find_papers -->',
          '## When to use',
          "TRIGGER when the user asks to find / list / filter papers by author, year, or topic. SKIP for citation-graph traversal (that's a plain cypher_query MATCH on the CITES edge).",
          '## Methodology',
          '# Finding papers\n\nPapers carry `title`, `year`, `venue`, and an `author` list...',
        ].join('\n\n'),
      );
      server.graph = CODE;
      const { client: other } = await open({ skills });
      expect(riders(await descriptions(other), 'find_papers')).toEqual([]);
    });

    test("the guide's worked example code_graph_analysis rides on five tools of a code graph, byte for byte alike (bug 4)", async () => {
      server.graph = CODE;
      const skills = { 'code.md': CODE_GRAPH };
      const { client } = await open({ skills });
      const all = await descriptions(client);
      expect(riders(all, 'code_graph_analysis').sort()).toEqual(
        ['cypher_query', 'explore', 'graph_overview', 'grep', 'read_source'].sort(),
      );
      const blocks = riders(all, 'code_graph_analysis').map((name) =>
        all.get(name)?.slice(base.get(name)?.length),
      );
      expect(new Set(blocks).size).toBe(1);
      server.graph = PAPERS;
      const { client: other } = await open({ skills });
      expect(riders(await descriptions(other), 'code_graph_analysis')).toEqual([]);
    });

    test('3.3 the skill of the tool comes first, then the others by name; 3.4 equal questions give equal bytes', async () => {
      const { client } = await open({
        skills: {
          'z.md': skillFile({ name: 'explore', references_tools: ['explore'] }),
          'a.md': skillFile({ name: 'b_second', references_tools: ['explore', 'explore'] }),
          'b.md': skillFile({ name: 'a_first', references_tools: ['explore'] }),
        },
      });
      const all = await descriptions(client);
      const order = [...(all.get('explore') ?? '').matchAll(/<!-- mcp-skill:(\w+) -->/g)].map(
        ([, name]) => name,
      );
      expect(order).toEqual(['explore', 'a_first', 'b_second']);
      expect(await descriptions(client)).toEqual(all);
    });

    test('3.4 what the server injects itself is not added', async () => {
      const own = `${BASE}\n\n<!-- mcp-skill:mine -->\n\nOwn text.`;
      server.tools.set('cypher_query', own);
      const { client } = await open({
        skills: { 'mine.md': skillFile({ name: 'mine', references_tools: ['cypher_query', 'explore'] }) },
      });
      const all = await descriptions(client);
      expect(all.get('cypher_query')).toBe(own);
      expect(riders(all, 'mine')).toEqual(['cypher_query', 'explore']);
    });

    test('bug 1: no description points at prompts; bug 3: when to use comes before how', async () => {
      const { client } = await open({
        skills: { 'm.md': skillFile({ name: 'm', description: 'Now.', references_tools: ['grep'] }) },
      });
      const all = await descriptions(client);
      for (const [name, text] of all) expect(text, name).not.toMatch(/prompts\/(get|list)/);
      const text = all.get('grep') ?? '';
      expect(text.indexOf('## When to use')).toBeGreaterThan(0);
      expect(text.indexOf('## When to use')).toBeLessThan(text.indexOf('## Methodology'));
    });

    test('bug 2: a file with an unquoted colon never affects its neighbours', async () => {
      const { client } = await open({
        skills: {
          'a.md': '---\nname: broken\ndescription: TRIGGER: now\nreferences_tools: [grep]\n---\nx\n',
          'b.md': skillFile({ name: 'whole', references_tools: ['grep'] }),
        },
      });
      const all = await descriptions(client);
      expect(riders(all, 'whole')).toEqual(['grep']);
      expect(riders(all, 'broken')).toEqual([]);
    });

    test('bug 9: a skill about a tool that is not there is silent, where it is only referenced too', async () => {
      const skills = {
        'a.md': skillFile({
          name: 'saving',
          references_tools: ['explore'],
          applies_when: { tool_registered: 'save_graph' },
        }),
        'b.md': skillFile({ name: 'save_graph', references_tools: ['save_graph'] }),
      };
      const { client } = await open({ skills });
      const all = await descriptions(client);
      expect([...riders(all, 'saving'), ...riders(all, 'save_graph')]).toEqual([]);
      server.tools.set('save_graph', 'Saves.');
      const { client: other } = await open({ skills });
      const then = await descriptions(other);
      expect(riders(then, 'saving')).toEqual(['explore']);
      expect(riders(then, 'save_graph')).toEqual(['save_graph']);
    });

    test('bug 11: a misspelt predicate keeps the skill silent, beside a true one as well', async () => {
      const { client } = await open({
        skills: {
          'a.md': skillFile({
            name: 'm',
            references_tools: ['grep'],
            applies_when: { tool_registered: 'grep', tool_is: 'grep' },
          }),
        },
      });
      expect(riders(await descriptions(client), 'm')).toEqual([]);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).not.toContain('m');
    });

    test('5 extensions, node types and properties are judged together', async () => {
      server.graph = PAPERS;
      const gated = (name: string, applies_when: unknown) =>
        skillFile({ name, references_tools: ['grep'], applies_when });
      const { client } = await open({
        manifest: { extensions: { on: {}, zero: 0, off: false } },
        skills: {
          '1.md': gated('yes', {
            extension_enabled: 'on',
            graph_has_property: { node_type: 'Paper', prop_name: 'year' },
          }),
          '2.md': gated('zero', { extension_enabled: 'zero', graph_has_node_type: ['X', 'Paper'] }),
          '3.md': gated('no_extension', { extension_enabled: 'off' }),
          '4.md': gated('no_property', { graph_has_property: { node_type: 'Paper', prop_name: 'pages' } }),
          '5.md': gated('no_type', { graph_has_node_type: ['paper'] }),
          '6.md': gated('none', { graph_has_node_type: [] }),
        },
      });
      const { prompts } = await client.listPrompts();
      const names = prompts.map(({ name }) => name);
      expect(names.filter((name) => /^(yes|zero|no)/.test(name)).sort()).toEqual(['yes', 'zero']);
    });

    test('bug 15: a graph that is loaded through the host shows in the next list', async () => {
      server.graph = null;
      const { client, notices } = await open({ skills: { 'code.md': CODE_GRAPH } });
      expect(riders(await descriptions(client), 'code_graph_analysis')).toEqual([]);
      await client.callTool({ name: 'load_graph', arguments: { graph: CODE } });
      expect(riders(await descriptions(client), 'code_graph_analysis')).toHaveLength(5);
      if (!notices) return;
      const announced = () => notices().filter((method) => method.endsWith('list_changed'));
      const one = ['notifications/prompts/list_changed', 'notifications/tools/list_changed'];
      await vi.waitFor(() => expect(announced().sort()).toEqual(one));
      // A client that fetches again in response hears nothing more.
      await descriptions(client);
      await client.listPrompts();
      expect(announced().sort()).toEqual(one);
    });

    test('5 many lists at once ask the graph once, and a list that nobody gates by it never', async () => {
      const before = server.questions;
      const { client } = await open({
        skills: { 'm.md': skillFile({ name: 'm', references_tools: ['grep'] }) },
      });
      await descriptions(client);
      expect(server.questions).toBe(before);
      const { client: gated } = await open({ skills: { 'f.md': FIND_PAPERS } });
      await descriptions(gated);
      const asked = server.questions;
      await Promise.all(Array.from({ length: 8 }, () => descriptions(gated)));
      expect(server.questions - asked).toBeLessThanOrEqual(2);
    });

    test('5 a graph that cannot be asked silences what depends on it, and nothing else', async () => {
      const { client } = await open({
        manifest: { graph: { ...GRAPH, tool: 'grep' } },
        skills: { 'f.md': FIND_PAPERS, 'm.md': skillFile({ name: 'm', references_tools: ['explore'] }) },
      });
      server.graph = PAPERS;
      const all = await descriptions(client);
      expect(riders(all, 'find_papers')).toEqual([]);
      expect(riders(all, 'm')).toEqual(['explore']);
    });

    test('4, bug 12: a client with a cap gets the routing whole and the method by the loader', async () => {
      const body = `${'word '.repeat(500)}\n`;
      const routing = 'TRIGGER when it matters. '.repeat(20).trim();
      const skills = {
        'm.md': skillFile({ name: 'm', description: routing, references_tools: ['explore'] }, body),
      };
      const { client } = await open({ skills, client: 'claude-code' });
      const capped = (await descriptions(client)).get('explore') ?? '';
      expect(capped.length).toBeLessThanOrEqual(2048);
      expect(capped).toContain(routing);
      expect(capped).toMatch(
        /Before you first use this tool, read the method: call `skills` with action "get" and name "m"\.$/,
      );
      const loaded = await client.callTool({ name: 'skills', arguments: { action: 'get', name: 'm' } });
      expect(loaded.isError).toBeFalsy();
      expect(JSON.parse((loaded.content as { text: string }[])[0]?.text ?? '').text).toBe(body);

      const { client: other } = await open({ skills });
      expect((await descriptions(other)).get('explore')).toContain(body.trim());
      const { client: forced } = await open({
        skills,
        client: 'claude-code',
        manifest: { skills_delivery: 'eager' },
      });
      expect((await descriptions(forced)).get('explore')).toContain(body.trim());
      const { client: lazy } = await open({ skills, manifest: { skills_delivery: 'lazy' } });
      expect((await descriptions(lazy)).get('explore')).not.toContain('## Methodology');
    });

    test('bug 13: a body of 16,384 bytes is loaded whole, and one byte more is loaded whole as well', async () => {
      const body = (bytes: number) => `${'é'.repeat(100)}${'x'.repeat(bytes - 200)}`;
      const { client } = await open({
        skills: {
          'a.md': skillFile({ name: 'fits', references_tools: ['grep'] }, body(16_384)),
          'b.md': skillFile({ name: 'over', references_tools: ['grep'] }, body(16_385)),
        },
      });
      for (const [name, bytes] of [
        ['fits', 16_384],
        ['over', 16_385],
      ] as const) {
        const answer = await client.callTool({ name: 'skills', arguments: { action: 'get', name } });
        const page = JSON.parse((answer.content as { text: string }[])[0]?.text ?? '');
        expect(page.text).toBe(body(bytes));
        expect(page.next_start).toBeUndefined();
      }
      const text = (await descriptions(client)).get('grep') ?? '';
      expect(text).toContain(body(16_384));
      expect(text.endsWith('[skill body truncated at 16 KB]')).toBe(true);
    });

    test('4 an inactive name is refused like an unknown one, and only active ones are named', async () => {
      const { client } = await open({
        skills: {
          'f.md': FIND_PAPERS,
          'h.md': skillFile({
            name: 'hidden_but_loadable',
            references_tools: ['grep'],
            auto_inject_hint: false,
          }),
        },
      });
      const ask = async (name: string) => {
        const answer = await client.callTool({ name: 'skills', arguments: { action: 'get', name } });
        return { ...answer, text: (answer.content as { text: string }[])[0]?.text ?? '' };
      };
      const inactive = await ask('find_papers');
      const unknown = await ask('nothing');
      expect(inactive.isError && unknown.isError).toBe(true);
      expect(inactive.text.replace('find_papers', 'nothing')).toBe(unknown.text);
      expect(unknown.text).toContain('hidden_but_loadable');
      expect((await ask('hidden_but_loadable')).isError).toBeFalsy();
      expect(riders(await descriptions(client), 'hidden_but_loadable')).toEqual([]);
    });

    test('6 prompts are the active skills beside the own ones of the server', async () => {
      const body = '\nRaw,  as written.\r\n\n';
      const { client } = await open({
        skills: {
          'm.md': skillFile({ name: 'm', description: 'Now.', references_tools: ['grep'] }, body),
          'f.md': FIND_PAPERS,
        },
      });
      const { prompts } = await client.listPrompts();
      expect(prompts).toContainEqual({ name: 'm', description: 'Now.' });
      expect(prompts).toContainEqual({ name: 'own-prompt', description: 'Of the server.' });
      expect(prompts.map(({ name }) => name)).not.toContain('find_papers');
      const { messages } = await client.getPrompt({ name: 'm' });
      expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: body } }]);
      expect((await client.getPrompt({ name: 'own-prompt' })).messages).toHaveLength(1);
      for (const name of ['find_papers', 'nothing']) {
        await expect(client.getPrompt({ name })).rejects.toMatchObject({ code: -32602 });
      }
    });

    test('7.1 the instructions begin with the mode, then the hint, then what server and manifest say', async () => {
      const { client } = await open({ manifest: { instructions: 'The operator.' } });
      const text = client.getInstructions() ?? '';
      const parts = [
        '[kglite-mode] graph',
        '[kglite-batch-load-hint]',
        'The server itself.',
        'The operator.',
      ];
      const places = parts.map((part) => text.indexOf(part));
      expect(places.every((at) => at >= 0)).toBe(true);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      const { client: own } = await open({
        manifest: { instructions: 'Mine: [kglite-batch-load-hint] no.' },
      });
      expect((own.getInstructions() ?? '').split('[kglite-batch-load-hint]')).toHaveLength(2);
    });

    test('7.2, bug 5, bug 17: a bare overview call has banner and prefix before its text, and its data unchanged', async () => {
      server.graph = PAPERS;
      const { client } = await open({ manifest: { overview_prefix: 'Mind the units.\n\n' } });
      const overview = async (args: Record<string, unknown>) => {
        const { content, structuredContent } = await client.callTool({
          name: 'graph_overview',
          arguments: args,
        });
        return { text: (content as { text: string }[])[0]?.text ?? '', structuredContent };
      };
      const bare = await overview({});
      const plain = await overview({ types: [] });
      expect(plain.text).toBe(JSON.stringify({ types: [{ name: 'Paper', properties: ['title', 'year'] }] }));
      expect(bare.text).toMatch(/^\[kglite-mode\] graph\n/);
      expect(bare.text.endsWith(`\n\nMind the units.\n\n${plain.text}`)).toBe(true);
      expect(bare.structuredContent).toEqual(plain.structuredContent);
      expect((await overview({ types: null })).text).toBe(bare.text);
      expect((await overview({ connections: false })).text).toBe(plain.text);
      server.graph = null;
      expect((await overview({})).text).toMatch(
        /^\[kglite-mode\] graph\n[\s\S]*\n\nMind the units\.\n\nNo active graph\.$/,
      );
    });

    test('8 a tool is renamed, described anew or hidden before anything rides', async () => {
      const { client } = await open({
        manifest: {
          tools: [
            { bundled: 'cypher_query', rename: 'ask', description: 'Asks.' },
            { bundled: 'grep', hidden: true },
          ],
        },
        skills: {
          'a.md': skillFile({ name: 'ask' }),
          'b.md': skillFile({ name: 'old', references_tools: ['cypher_query', 'grep'] }),
        },
      });
      const all = await descriptions(client);
      expect(all.get('ask')).toMatch(/^Asks\.\n\n<!-- mcp-skill:ask -->/);
      expect([...all.keys()]).not.toContain('cypher_query');
      expect([...all.keys()]).not.toContain('grep');
      expect(riders(all, 'old')).toEqual([]);
      const called = await client.callTool({ name: 'ask', arguments: { q: 1 } });
      expect(called.structuredContent).toEqual({ name: 'cypher_query', args: { q: 1 } });
      for (const name of ['cypher_query', 'grep']) {
        const refused = await client.callTool({ name }).then(
          ({ isError }) => isError,
          () => true,
        );
        expect(refused, name).toBe(true);
      }
    });

    test('8 an allow list leaves the loader', async () => {
      const { client } = await open({
        manifest: { extensions: { tools_allow: ['explore'] } },
        skills: { 'm.md': skillFile({ name: 'm', references_tools: ['explore', 'grep'] }) },
      });
      expect([...(await descriptions(client)).keys()].sort()).toEqual(['explore', 'skills']);
    });

    test('5 the graph is asked by a tool that is hidden, or not among those allowed, as well', async () => {
      server.graph = PAPERS;
      const skills = { 'f.md': FIND_PAPERS };
      for (const manifest of [
        { tools: [{ bundled: 'graph_overview', hidden: true }] },
        { extensions: { tools_allow: ['cypher_query'] } },
      ]) {
        const { client } = await open({ manifest, skills });
        const all = await descriptions(client);
        expect([...all.keys()]).not.toContain('graph_overview');
        expect(riders(all, 'find_papers')).toEqual(['cypher_query']);
      }
    });

    test('5 a change while the graph is known shows in the next list, and its server is asked once more for it', async () => {
      server.graph = PAPERS;
      const { client } = await open({ skills: { 'code.md': CODE_GRAPH } });
      expect(riders(await descriptions(client), 'code_graph_analysis')).toEqual([]);
      const asked = server.questions;
      await client.callTool({ name: 'load_graph', arguments: { graph: CODE } });
      const lists = await Promise.all([descriptions(client), descriptions(client), descriptions(client)]);
      for (const all of lists) expect(riders(all, 'code_graph_analysis')).toHaveLength(5);
      expect(server.questions - asked).toBe(1);
    });

    test('2.1 off is complete: every byte is the server’s own', async () => {
      const { client } = await open({
        manifest: { skills: false },
        skills: { 'm.md': skillFile({ name: 'explore' }) },
      });
      const all = await descriptions(client);
      for (const [name, text] of base) expect(all.get(name)).toBe(text);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['own-prompt']);
      await expect(client.getPrompt({ name: 'explore' })).rejects.toMatchObject({ code: -32602 });
    });

    test('what is not ours passes through: data, meta and errors with their codes', async () => {
      const { client } = await open({ skills: { 'm.md': skillFile({ name: 'explore' }) } });
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === 'explore')?._meta).toEqual({ 'example.com/kept': 'explore' });
      const called = await client.callTool({ name: 'explore', arguments: { ü: [1, { x: null }] } });
      expect(called.structuredContent).toEqual({ name: 'explore', args: { ü: [1, { x: null }] } });
      expect(called._meta).toMatchObject({ 'example.com/call': 1 });
      expect(await client.callTool({ name: 'grep' })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: 'grep failed' }],
      });
      await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({
        code: -32602,
        data: { name: 'nothing' },
      });
    });
  });
}
