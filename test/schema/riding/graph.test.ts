import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import {
  type GraphMapping,
  graphTool,
  mayChangeGraph,
  PRESETS,
  readGraph,
  readGraphMapping,
  type ToolAnswer,
} from '../../../schema/riding/graph.ts';

const text = (value: unknown): ToolAnswer => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});
const read = (mapping: GraphMapping, answer: ToolAnswer) => {
  const schema = readGraph(mapping, answer);
  return typeof schema === 'string'
    ? schema
    : Object.fromEntries([...schema].map(([type, all]) => [type, [...all]]));
};
const mapping = (value: unknown) =>
  readGraphMapping(value, (what) => {
    throw new Error(what);
  }) as GraphMapping;

test('the preset `memory` reads what server-memory really answers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'repertoire-graph-'));
  const server = spawn(
    process.execPath,
    [createRequire(import.meta.url).resolve('@modelcontextprotocol/server-memory/dist/index.js')],
    {
      env: { ...process.env, MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  onTestFinished(async () => {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const send = (message: object) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (id: number, method: string, params: object) => {
    send({ id, method, params });
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error('The server ended.');
      const message = JSON.parse(value) as { id?: number; result?: ToolAnswer };
      if (message.id === id) return message.result as ToolAnswer;
    }
  };
  await ask(1, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  send({ method: 'notifications/initialized' });
  expect(read(PRESETS.memory, await ask(2, 'tools/call', { name: 'read_graph', arguments: {} }))).toEqual({});
  const entities = [
    { name: 'A', entityType: 'Paper', observations: ['year: 2020', 'well cited', 'venue : ICML: main'] },
    { name: 'B', entityType: 'Paper', observations: ['title: On B'] },
    { name: 'C', entityType: 'Author', observations: [] },
  ];
  await ask(3, 'tools/call', { name: 'create_entities', arguments: { entities } });
  const answer = await ask(4, 'tools/call', { name: 'read_graph', arguments: {} });
  const expected = { Paper: ['year', 'venue', 'title'], Author: [] };
  expect(read(PRESETS.memory, answer)).toEqual(expected);
  const { structuredContent, ...older } = answer;
  expect(structuredContent).toBeDefined();
  expect(read(PRESETS.memory, older)).toEqual(expected);
});

test('the preset `neo4j` reads both servers’ forms', () => {
  const official = [
    { key: 'Movie', value: { type: 'node', properties: { title: 'STRING', released: 'INTEGER' } } },
    { key: 'ACTED_IN', value: { type: 'relationship', properties: { roles: 'LIST' } } },
    { key: 'Tag', value: { type: 'node' } },
  ];
  const labs = {
    Movie: {
      type: 'node',
      count: 38,
      properties: { title: { indexed: false, type: 'STRING' }, released: { type: 'INTEGER' } },
    },
    ACTED_IN: { type: 'relationship', count: 172 },
    Tag: { type: 'node', count: 0 },
  };
  for (const schema of [official, labs]) {
    expect(read(PRESETS.neo4j, text(schema))).toEqual({ Movie: ['title', 'released'], Tag: [] });
  }
  expect(
    read(
      PRESETS.neo4j,
      text(
        'The get-schema tool executed successfully; however, since the Neo4j instance contains no data, no schema information was returned.',
      ),
    ),
  ).toEqual({});
  expect(read(PRESETS.neo4j, { ...text('Neo4j Client Error: no APOC'), isError: true })).toBe('failed');
  expect(graphTool(PRESETS.neo4j, new Set(['get_neo4j_schema', 'read_neo4j_cypher']))).toBe(
    'get_neo4j_schema',
  );
  expect(graphTool(PRESETS.neo4j, new Set(['get-schema', 'get_neo4j_schema']))).toBe('get-schema');
  expect(graphTool(PRESETS.neo4j, new Set(['x']))).toBeNull();
});

test('the preset `kglite` reads a small graph’s overview', () => {
  const overview = `<active_graph root="/x" built="now"/>
<graph kglite_version="0.10.25" nodes="5" edges="3">
  <instructions>Mind &lt;type name="Fake"&gt;.</instructions>
  <conventions>All nodes have .id and .title</conventions>
  <types>
    <type name="Function" count="3" id_alias="qualified_name">
      <properties>
        <prop name="module" type="String" unique="2" vals="a|b"/>
        <prop name="line" type="Int64" unique="3"/>
      </properties>
      <example query="MATCH (n:Function) RETURN n"/>
      <connections>
        <out type="CALLS" target="Function" count="2"/>
      </connections>
      <samples>
        <node id="1" name="x"/>
      </samples>
    </type>
    <type name="Class" count="2">
    </type>
  </types>
  <connections>
    <conn type="CALLS" count="3" from="Function" to="Function" properties="weight"/>
  </connections>
  <exploration_hints>
    <disconnected>
      <type name="Class" nodes="2" hint="No connections to other types"/>
    </disconnected>
  </exploration_hints>
</graph>`;
  expect(read(PRESETS.kglite, text(overview))).toEqual({
    Function: ['id', 'title', 'module', 'line'],
    Class: ['id', 'title'],
  });
});

test('the preset `kglite` reads the types of a large graph’s overview, which names no properties', () => {
  for (const attributes of ['count="20"', 'core="3" supporting="2"', 'count="300" shown="3"']) {
    const overview = `<active_graph/>
<graph kglite_version="0.10.25" nodes="500" edges="300">
  <conventions>All nodes have .id and .title</conventions>
  <types ${attributes}>
    Function[l,m], Class[m,vl,ts] +2, Open Case[vs,l]
    <more count="280" hint="graph_overview(type_search='pattern') to find more"/>
  </types>
  <connections/>
</graph>`;
    expect(read(PRESETS.kglite, text(overview))).toEqual({ Function: [], Class: [], 'Open Case': [] });
  }
});

test('no active graph, in the words of kglite, is no failure', () => {
  const answer = text(
    "No active graph. Pass --graph X.kgl, or activate one via repo_management('org/repo').",
  );
  expect(read(PRESETS.kglite, answer)).toBe('none');
  expect(read(PRESETS.kglite, { ...answer, isError: true })).toBe('none');
});

test('what cannot be read has failed', () => {
  for (const preset of [PRESETS.memory, PRESETS.kglite]) {
    expect(read(preset, {})).toBe('failed');
    expect(read(preset, { content: [{ type: 'image' }] })).toBe('failed');
    expect(read(preset, { ...text('boom'), isError: true })).toBe('failed');
  }
  expect(read(PRESETS.memory, text('not json'))).toBe('failed');
  expect(read(PRESETS.memory, text({ nodes: [] }))).toBe('failed');
  expect(read(PRESETS.memory, { structuredContent: { entities: 'many' } })).toBe('failed');
  expect(read(PRESETS.memory, text(`"${'x'.repeat(9 * 1024 * 1024)}"`))).toBe('failed');
});

test('only texts count as labels and properties, and only labels that are listed have properties', () => {
  const custom = mapping({ tool: 't', node_types: 'types', properties: 'properties' });
  expect(
    read(
      custom,
      text({
        types: ['A', 1, null, ['B']],
        properties: [['A', 'x'], ['A', ['y', 2]], ['Z', 'z'], 'A', [1, 'x']],
      }),
    ),
  ).toEqual({ A: ['x', 'y'] });
  expect(
    read(custom, text({ types: ['A', '__proto__'], properties: { A: ['x'], toString: ['y'] } })),
  ).toMatchObject({ A: ['x'] });
  expect(read(custom, text({ types: ['A'] }))).toEqual({ A: [] });
});

test('the format says what is read', () => {
  const answer: ToolAnswer = {
    structuredContent: { types: ['S'] },
    content: [{ type: 'text', text: '{"types":["J"]}' }],
  };
  const types = (format?: string) => read(mapping({ tool: 't', node_types: 'types', format }), answer);
  expect([types(), types('auto'), types('structured'), types('json')]).toEqual([
    { S: [] },
    { S: [] },
    { S: [] },
    { J: [] },
  ]);
  expect(read(mapping({ tool: 't', node_types: "split(@, ':')", format: 'text' }), answer)).toEqual({
    '{"types"': [],
    '["J"]}': [],
  });
});

test('every call may change the graph but the asking one and those declared read-only', () => {
  expect(
    mayChangeGraph(PRESETS.memory, { name: 'create_entities', annotations: { readOnlyHint: false } }),
  ).toBe(true);
  expect(mayChangeGraph(PRESETS.memory, { name: 'anything' })).toBe(true);
  expect(mayChangeGraph(PRESETS.memory, { name: 'search_nodes', annotations: { readOnlyHint: true } })).toBe(
    false,
  );
  expect(mayChangeGraph(PRESETS.memory, { name: 'read_graph' })).toBe(false);
});
