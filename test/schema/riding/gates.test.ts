import { expect, test } from 'vitest';
import { asksGraph } from '../../../schema/riding/gate.ts';
import { evaluate, type Facts } from '../../../schema/riding/gates.ts';
import type { GraphSchema } from '../../../schema/riding/graph.ts';
import { names, skill } from './skills.ts';

const GRAPH: GraphSchema = new Map([
  ['Paper', new Set(['title', 'year'])],
  ['Empty', new Set()],
]);
const FACTS: Facts = {
  tools: new Set(['cypher_query', 'renamed']),
  extensions: { on: true, empty: {}, zero: 0, blank: '', off: false, none: null },
  graph: GRAPH,
};
const active = (applies: string, facts: Partial<Facts> = {}) =>
  evaluate([skill(`name: a\napplies_when: ${applies}`)], { ...FACTS, ...facts }).active.length === 1;

test.each([
  ['{graph_has_node_type: [Paper]}', true],
  ['{graph_has_node_type: [Nothing, Paper]}', true],
  ['{graph_has_node_type: [Empty]}', true],
  ['{graph_has_node_type: [paper]}', false],
  ['{graph_has_node_type: []}', false],
  ['{graph_has_node_type: [toString, __proto__]}', false],
  ['{graph_has_property: {node_type: Paper, prop_name: year}}', true],
  ['{graph_has_property: {node_type: Paper, prop_name: Year}}', false],
  ['{graph_has_property: {node_type: Empty, prop_name: year}}', false],
  ['{graph_has_property: {node_type: Nothing, prop_name: year}}', false],
  ['{tool_registered: cypher_query}', true],
  ['{tool_registered: Cypher_Query}', false],
  ['{tool_registered: old_name}', false],
  ['{extension_enabled: on}', true],
  ['{extension_enabled: empty}', true],
  ['{extension_enabled: zero}', true],
  ['{extension_enabled: blank}', true],
  ['{extension_enabled: off}', false],
  ['{extension_enabled: none}', false],
  ['{extension_enabled: absent}', false],
  ['{extension_enabled: toString}', false],
  ['{graph_has_node_type: [Paper], tool_registered: cypher_query, extension_enabled: on}', true],
  ['{graph_has_node_type: [Paper], tool_registered: absent}', false],
  ['{}', true],
])('5 %s is %s', (applies, expected) => expect(active(applies)).toBe(expected));

test('5 without applies_when a skill is always active', () => {
  expect(evaluate([skill('name: a')], { tools: new Set(), extensions: {}, graph: null }).active).toHaveLength(
    1,
  );
});

test.each([null, 'none', 'failed'] as const)(
  '5 with %s for a graph its predicates are not satisfied',
  (graph) => {
    expect(active('{graph_has_node_type: [Paper]}', { graph })).toBe(false);
    expect(active('{graph_has_property: {node_type: Paper, prop_name: year}}', { graph })).toBe(false);
    expect(active('{tool_registered: cypher_query}', { graph })).toBe(true);
  },
);

test('5 a failed probe is one warning, however many skills wait for it', () => {
  const skills = ['a', 'b', 'c'].map((name) =>
    skill(`name: ${name}\napplies_when: {graph_has_node_type: [Paper]}`),
  );
  const { diagnostics } = evaluate(skills, { ...FACTS, graph: 'failed' });
  expect(diagnostics.filter(({ code }) => code === 'graph-failed')).toHaveLength(1);
  expect(evaluate([skill('name: a')], { ...FACTS, graph: 'failed' }).diagnostics).toEqual([]);
});

test.each(['{graph_has_nodetype: [Paper]}', '{tool_registered: cypher_query, graph_has_nodetype: [Paper]}'])(
  'bug 11: a misspelt predicate closes the gate, beside a true clause too: %s',
  (applies) => expect(active(applies)).toBe(false),
);

test('bug 9: a tool that is not there closes the gate of a skill that only refers to others, too', () => {
  const skills = [skill('name: a\nreferences_tools: [cypher_query]\napplies_when: {tool_registered: grep}')];
  expect(evaluate(skills, FACTS).active).toEqual([]);
  expect(evaluate(skills, { ...FACTS, tools: new Set(['cypher_query', 'grep']) }).active).toHaveLength(1);
});

test('5 a debug diagnostic names the failed clauses only', () => {
  const { inactive, diagnostics } = evaluate(
    [
      skill(
        'name: a\napplies_when: {tool_registered: grep, extension_enabled: on, graph_has_node_type: [A, B]}',
      ),
    ],
    FACTS,
  );
  expect(inactive).toMatchObject([
    { failed: [{ predicate: 'tool_registered' }, { predicate: 'graph_has_node_type' }] },
  ]);
  expect(diagnostics).toMatchObject([{ severity: 'debug', code: 'inactive', skill: 'a' }]);
  expect(diagnostics[0]?.message).toContain('tool_registered: grep; graph_has_node_type: [A, B]');
});

test('5 the order given is kept', () => {
  const skills = ['b', 'a', 'c'].map((name) => skill(`name: ${name}`));
  expect(names(evaluate(skills, FACTS).active)).toEqual(['b', 'a', 'c']);
});

test('5 the graph is worth asking only when a gate depends on it', () => {
  expect(asksGraph([skill('name: a'), skill('name: b\napplies_when: {tool_registered: x}')])).toBe(false);
  expect(asksGraph([skill('name: a'), skill('name: b\napplies_when: {graph_has_node_type: [X]}')])).toBe(
    true,
  );
  expect(
    asksGraph([skill('name: b\napplies_when: {graph_has_property: {node_type: X, prop_name: y}}')]),
  ).toBe(true);
});
