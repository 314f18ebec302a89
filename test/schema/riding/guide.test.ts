import { expect, test } from 'vitest';
import { composeTools } from '../../../schema/riding/compose.ts';
import { evaluate } from '../../../schema/riding/gates.ts';
import type { GraphSchema } from '../../../schema/riding/graph.ts';
import { parseManifest } from '../../../schema/riding/manifest.ts';
import { listPrompts } from '../../../schema/riding/prompts.ts';
import { type RidingSkill, readRidingSkill } from '../../../schema/riding/skill.ts';
import { CODE_GRAPH, FIND_PAPERS } from '../../riding/guide-skills.ts';

const TOOLS = ['cypher_query', 'graph_overview', 'explore', 'grep', 'read_source', 'save_graph'].map(
  (name) => ({
    name,
    description: `Base of ${name}.`,
  }),
);
const schema = (...types: string[]): GraphSchema => new Map(types.map((type) => [type, new Set<string>()]));

function list(text: string, graph: GraphSchema) {
  const { skill, diagnostics } = readRidingSkill('guide.md', text);
  expect(diagnostics).toEqual([]);
  const facts = { tools: new Set(TOOLS.map(({ name }) => name)), extensions: {}, graph };
  const { active } = evaluate([skill as RidingSkill], facts);
  const { tools } = composeTools({ tools: TOOLS, active, delivery: 'auto', cap: null, loader: 'skills' });
  return { tools, prompts: listPrompts(active) };
}

test('the guide’s find_papers, on a graph with papers', () => {
  const { tools, prompts } = list(FIND_PAPERS, schema('Paper', 'Author'));
  expect(tools.slice(1)).toEqual(TOOLS.slice(1));
  expect(tools[0]?.description).toBe(`Base of cypher_query.

<!-- mcp-skill:find_papers -->

## When to use

TRIGGER when the user asks to find / list / filter papers by author, year, or topic. SKIP for citation-graph traversal (that's a plain cypher_query MATCH on the CITES edge).

## Methodology

# Finding papers

Papers carry \`title\`, \`year\`, \`venue\`, and an \`author\` list...`);
  expect(prompts).toHaveLength(1);
});

test('the guide’s find_papers, on a graph without', () => {
  expect(list(FIND_PAPERS, schema('Author', 'paper'))).toEqual({ tools: TOOLS, prompts: [] });
});

test.each([['Function'], ['Class'], ['Function', 'Class', 'File']])(
  'the guide’s code_graph_analysis rides all five tools on a code graph: %s',
  (...types) => {
    const { tools } = list(CODE_GRAPH, schema(...types));
    const blocks = tools
      .slice(0, 5)
      .map(({ name, description }) => description.slice(`Base of ${name}.`.length));
    expect(new Set(blocks).size).toBe(1);
    expect(blocks[0]).toContain(
      '\n\n<!-- mcp-skill:code_graph_analysis -->\n\n## When to use\n\nTRIGGER for any structural question',
    );
    expect(blocks[0]?.endsWith('## Methodology\n\n# Code-graph analysis: the sequencing strategy\n...')).toBe(
      true,
    );
    expect(tools[5]).toBe(TOOLS[5]);
  },
);

test('the guide’s code_graph_analysis is silent on a domain graph', () => {
  expect(list(CODE_GRAPH, schema('Statute', 'Case'))).toEqual({ tools: TOOLS, prompts: [] });
});

test('the guide’s manifest', () => {
  const text = '# my_graph_mcp.yaml\nname: my_graph\nskills: true          # turn the skill system on\n';
  expect(parseManifest(text, { source: 'my_graph_mcp.yaml', host: 'device' })).toMatchObject({
    name: 'my_graph',
    skills: { defaults: true, declared: [] },
  });
});
