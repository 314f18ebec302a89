import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { expect, test, vi } from 'vitest';
import { skillFile } from '../../riding/skill-file.ts';
import { folder, NODE, program, serveHere } from './harness.ts';

const PAPERS = skillFile({
  name: 'papers',
  description: 'TRIGGER for papers.',
  references_tools: ['search_nodes'],
  applies_when: { graph_has_node_type: ['Paper'] },
});

const PAGED = skillFile({
  name: 'paged',
  references_tools: ['open_nodes'],
  applies_when: { graph_has_property: { node_type: 'Paper', prop_name: 'pages' } },
});

function memory(era: 'legacy' | 'modern') {
  const directory = folder();
  const file = join(directory, 'memory.jsonl');
  const manifest = {
    command: NODE,
    args: [program('memory')],
    env: { MEMORY_FILE_PATH: file },
    graph: 'memory',
    skills: true,
  };
  return { file, served: serveHere({ manifest, skills: { 'a.md': PAPERS, 'b.md': PAGED }, directory, era }) };
}

async function riding(client: Client): Promise<string[]> {
  const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
  return tools.flatMap(({ name, description = '' }) =>
    /mcp-skill:pape?|mcp-skill:paged/.test(description) ? [name] : [],
  );
}

test.each(['legacy', 'modern'] as const)(
  'a skill about papers appears with the first paper and goes with the last, one notice each (%s)',
  async (era) => {
    const { served } = memory(era);
    const { client, heard } = await served;
    if (era === 'modern') await client.listen({ toolsListChanged: true, promptsListChanged: true });
    const notices = () => heard.map(({ method }) => method.replace('notifications/', '')).sort();
    const pair = ['prompts/list_changed', 'tools/list_changed'];
    expect(await riding(client)).toEqual([]);

    const entity = { name: 'p', entityType: 'Paper', observations: [] };
    await client.callTool({ name: 'create_entities', arguments: { entities: [entity] } });
    await vi.waitFor(() => expect(notices()).toEqual(pair), 60_000);
    expect(await riding(client)).toEqual(['search_nodes']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('papers');

    await client.callTool({
      name: 'create_entities',
      arguments: { entities: [{ ...entity, name: 'q', observations: ['pages: 7'] }] },
    });
    await vi.waitFor(() => expect(notices()).toHaveLength(4), 60_000);
    expect(await riding(client)).toEqual(['search_nodes', 'open_nodes']);
    // What changes nothing about the skills is not announced.
    await client.callTool({ name: 'read_graph', arguments: {} });
    await client.callTool({
      name: 'add_observations',
      arguments: { observations: [{ entityName: 'p', contents: ['no property'] }] },
    });

    await client.callTool({ name: 'delete_entities', arguments: { entityNames: ['p', 'q'] } });
    await vi.waitFor(() => expect(notices()).toHaveLength(6), 60_000);
    expect(await riding(client)).toEqual([]);
    await expect(client.getPrompt({ name: 'papers' })).rejects.toMatchObject({ code: -32602 });
    expect(notices()).toHaveLength(6);
  },
);

test('a list right after a change waits for the graph rather than telling what was', async () => {
  const { client } = await memory('legacy').served;
  for (const name of ['a', 'b', 'c']) {
    const entities = [{ name, entityType: 'Paper', observations: [] }];
    await client.callTool({ name: 'create_entities', arguments: { entities } });
    expect(await riding(client)).toEqual(['search_nodes']);
    await client.callTool({ name: 'delete_entities', arguments: { entityNames: [name] } });
    expect(await riding(client)).toEqual([]);
  }
});

test('what others do to the graph shows in a later list', async () => {
  const { file, served } = memory('legacy');
  const { client } = await served;
  expect(await riding(client)).toEqual([]);
  const entity = { type: 'entity', name: 'p', entityType: 'Paper', observations: [] };
  writeFileSync(file, JSON.stringify(entity));
  await vi.waitFor(async () => expect(await riding(client)).toEqual(['search_nodes']), {
    timeout: 60_000,
    interval: 200,
  });
  expect(readFileSync(file, 'utf8')).toBe(JSON.stringify(entity));
});
