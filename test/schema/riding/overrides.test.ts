import { expect, test } from 'vitest';
import { applyOverrides, type ToolOverride } from '../../../schema/riding/overrides.ts';
import { names } from './skills.ts';

const tool = (name: string, description = `does ${name}`) => ({
  name,
  description,
  inputSchema: { type: 'object' },
});
const change = (name: string, what: Partial<ToolOverride>): ToolOverride => ({
  tool: name,
  rename: null,
  description: null,
  hidden: false,
  ...what,
});
const apply = (tools: ReturnType<typeof tool>[], ...overrides: ToolOverride[]) =>
  applyOverrides(tools, { tools: overrides, toolsAllow: null });

test('3.1 rename, description and hidden come first, and nothing given is changed', () => {
  const tools = [tool('a'), tool('b'), tool('c')];
  const before = structuredClone(tools);
  const {
    tools: shown,
    upstreamNames,
    diagnostics,
  } = apply(
    tools,
    change('a', { rename: 'z' }),
    change('b', { description: 'new' }),
    change('c', { hidden: true }),
  );
  expect(shown).toEqual([tool('z', 'does a'), tool('b', 'new')]);
  expect([...upstreamNames]).toEqual([
    ['z', 'a'],
    ['b', 'b'],
  ]);
  expect(diagnostics).toEqual([]);
  expect(tools).toEqual(before);
});

test('8 an unknown target and a taken name are errors, and go on without the change', () => {
  const { tools, upstreamNames, diagnostics } = apply(
    [tool('a'), tool('b')],
    change('x', { hidden: true }),
    change('a', { rename: 'b' }),
  );
  expect(names(tools)).toEqual(['a', 'b']);
  expect(upstreamNames.get('a')).toBe('a');
  expect(diagnostics).toMatchObject([
    { severity: 'error', code: 'unmatched-override', tool: 'x' },
    { severity: 'error', code: 'unmatched-override', tool: 'a' },
  ]);
});

test('8 two tools may swap their names, and one may take that of a hidden one', () => {
  const swapped = apply([tool('a'), tool('b')], change('a', { rename: 'b' }), change('b', { rename: 'a' }));
  expect([...swapped.upstreamNames]).toEqual([
    ['b', 'a'],
    ['a', 'b'],
  ]);
  const taken = apply([tool('a'), tool('b')], change('a', { rename: 'b' }), change('b', { hidden: true }));
  expect([...taken.upstreamNames]).toEqual([['b', 'a']]);
  expect([...swapped.diagnostics, ...taken.diagnostics]).toEqual([]);
});

test('8 a tool that an upstream lists twice is shown once', () => {
  const { tools, diagnostics } = apply([tool('a', 'first'), tool('a', 'second')]);
  expect(tools).toEqual([tool('a', 'first')]);
  expect(diagnostics).toMatchObject([{ tool: 'a' }]);
});

test('8 extensions.tools_allow narrows by the names shown', () => {
  const { tools } = applyOverrides([tool('a'), tool('b'), tool('c')], {
    tools: [change('a', { rename: 'z' })],
    toolsAllow: ['z', 'c', 'nobody'],
  });
  expect(names(tools)).toEqual(['z', 'c']);
});
