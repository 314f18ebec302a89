import { describe, expect, test } from 'vitest';
import {
  composeInstructions,
  isBareCall,
  modeBanner,
  prefixOverview,
} from '../../../schema/riding/channels.ts';
import { PRESETS } from '../../../schema/riding/graph.ts';
import { skill } from './skills.ts';

const MARKER = '[kglite-batch-load-hint]';
const BARE = {
  graph: null,
  tools: new Set<string>(),
  upstreamNames: new Map<string, string>(),
  served: new Set<string>(),
  skills: [],
  loader: null,
};
const BANNER = modeBanner(BARE);

describe('7.1 instructions', () => {
  test('7.1 the banner says the mode and the state of each conditional tool', () => {
    const skills = [
      skill('name: a\napplies_when: {tool_registered: grep}'),
      skill('name: b\napplies_when: {tool_registered: save, extension_enabled: x}'),
      skill('name: c\napplies_when: {tool_registered: grep}'),
    ];
    const graph = modeBanner({
      graph: PRESETS.memory,
      tools: new Set(['grep', 'read_graph', 'skills']),
      upstreamNames: new Map([['read_graph', 'read_graph']]),
      served: new Set(['grep', 'read_graph']),
      skills,
      loader: 'skills',
    });
    expect(graph).toBe(
      '[kglite-mode] graph\n- grep: registered\n- read_graph: registered\n- save: not registered\n- skills: registered',
    );
    expect(BANNER).toBe('[kglite-mode] bare\n- graph: not part of this mode\n- skills: not registered');
  });
  test.each([
    ['by the name shown', ['get_neo4j_schema'], [['schema', 'get_neo4j_schema']], 'schema: registered'],
    ['hidden', ['get_neo4j_schema'], [], 'get_neo4j_schema: not registered'],
    ['not served at all', [], [], 'get-schema: not registered'],
  ] as const)('7.1 the banner names the tool that tells the graph: %s', (_, served, upstreamNames, line) => {
    const banner = modeBanner({
      ...BARE,
      graph: PRESETS.neo4j,
      tools: new Set(['schema']),
      upstreamNames: new Map(upstreamNames),
      served: new Set(served),
    });
    expect(banner.split('\n')).toContain(`- ${line}`);
  });
  test('7.1 order: pointer, banner, hint, upstream, manifest, listing, one empty line apart', () => {
    const parts = composeInstructions({
      pointer: 'POINTER',
      banner: BANNER,
      upstream: 'UP',
      operator: 'OP',
      listing: 'LIST',
    }).split('\n\n');
    expect(parts).toEqual([
      'POINTER',
      BANNER,
      expect.stringMatching(/^\[kglite-batch-load-hint\] /),
      'UP',
      'OP',
      'LIST',
    ]);
  });
  test.each([undefined, null, '', ' \n\t'])('7.1 blank operator text counts as absent: %j', (operator) => {
    expect(composeInstructions({ banner: BANNER, operator })).toBe(composeInstructions({ banner: BANNER }));
  });
  test('7.1 the marker in operator or upstream text stands for the hint', () => {
    for (const key of ['operator', 'upstream']) {
      const text = composeInstructions({ banner: BANNER, [key]: `Mine. ${MARKER}` });
      expect(text).toBe(`${BANNER}\n\nMine. ${MARKER}`);
    }
  });
  test('7.1 operators cannot replace the banner', () => {
    const text = composeInstructions({ banner: BANNER, operator: '[kglite-mode] graph\n\nmine' });
    expect(text.startsWith(`${BANNER}\n\n${MARKER}`)).toBe(true);
    expect(text).toContain('[kglite-mode] graph\n\nmine');
  });
  test('7.1 composing twice changes nothing', () => {
    const input = { pointer: 'POINTER', banner: BANNER, listing: 'LIST' };
    for (const operator of ['OP', '', `x ${MARKER}`]) {
      const once = composeInstructions({ ...input, operator });
      expect(composeInstructions({ ...input, operator: once })).toBe(once);
      expect(composeInstructions({ ...input, upstream: once })).toBe(once);
    }
  });
});

describe('7.2 overview prefix', () => {
  test.each([
    [undefined, true],
    [{}, true],
    [{ types: null, depth: undefined }, true],
    [{ types: [] }, false],
    [{ connections: false }, false],
    [{ types: '' }, false],
    [{ depth: 0 }, false],
  ])('7.2 the arguments %j are bare: %s', (args, bare) => expect(isBareCall(args)).toBe(bare));
  test('bug 5: banner, prefix and tool text, without the prefix’s last line breaks', () => {
    const answer = {
      content: [
        { type: 'image', data: 'x' },
        { type: 'text', text: '<graph/>' },
        { type: 'text', text: 'more' },
      ],
    };
    const before = structuredClone(answer);
    expect(prefixOverview(answer, { banner: 'B', prefix: 'Read me.\n\r\n' }).content).toEqual([
      { type: 'image', data: 'x' },
      { type: 'text', text: 'B\n\nRead me.\n\n<graph/>' },
      { type: 'text', text: 'more' },
    ]);
    expect(answer).toEqual(before);
  });
  test.each([null, '', '\n\n'])('7.2 without a prefix (%j) the banner is still there', (prefix) => {
    expect(
      prefixOverview({ content: [{ type: 'text', text: 'x' }] }, { banner: 'B', prefix }).content,
    ).toEqual([{ type: 'text', text: 'B\n\nx' }]);
  });
  test('7.2 it precedes error text too, and stands alone where there is no text', () => {
    const failed = prefixOverview(
      { isError: true, content: [{ type: 'text', text: 'No active graph.' }] },
      { banner: 'B', prefix: 'P' },
    );
    expect(failed).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'B\n\nP\n\nNo active graph.' }],
    });
    expect(prefixOverview({}, { banner: 'B', prefix: 'P' })).toEqual({
      content: [{ type: 'text', text: 'B\n\nP' }],
    });
  });
  test('bug 17: structuredContent stays as it is', () => {
    const structuredContent = { types: ['A'] };
    const answer = prefixOverview({ structuredContent, content: [] }, { banner: 'B', prefix: null });
    expect(answer.structuredContent).toBe(structuredContent);
  });
});
