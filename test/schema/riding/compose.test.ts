import { describe, expect, test } from 'vitest';
import { CLIENTS, type ClientId, type ClientRow } from '../../../schema/clients.ts';
import { type ComposeInput, composeTools, type RidingTool } from '../../../schema/riding/compose.ts';
import { type Delivery, descriptionCap } from '../../../schema/riding/delivery.ts';
import type { RidingSkill } from '../../../schema/riding/skill.ts';
import { skill } from './skills.ts';

const tools = (...all: string[]): RidingTool[] =>
  all.map((name) => ({ name, description: `Base of ${name}.` }));
const compose = (input: Partial<ComposeInput<RidingTool>>) =>
  composeTools({ tools: tools('t'), active: [], delivery: 'auto', cap: null, loader: 'skills', ...input });
const text = (input: Partial<ComposeInput<RidingTool>>, tool = 't') =>
  compose(input).tools.find(({ name }) => name === tool)?.description ?? '';
const markers = (description: string) =>
  [...description.matchAll(/<!-- mcp-skill:(.*?) -->/g)].map((match) => match[1]);

describe('3.1 targets', () => {
  test('3.1 the name and references_tools, without repeats; others stay the objects given', () => {
    const all = tools('t', 'u', 'v');
    const { tools: composed, rides } = compose({
      tools: all,
      active: [skill('name: t\nreferences_tools: [u, u, t]')],
    });
    expect(composed[2]).toBe(all[2]);
    expect(rides.map(({ tool, skills }) => [tool, skills.length])).toEqual([
      ['t', 1],
      ['u', 1],
    ]);
    expect(markers(composed[0]?.description ?? '')).toEqual(['t']);
    expect(all).toEqual(tools('t', 'u', 'v'));
  });
  test('bug 4: one skill on three tools has byte-equal blocks', () => {
    const { tools: composed } = compose({
      tools: tools('a', 'b', 'c'),
      active: [skill('name: topic\ndescription: d\nreferences_tools: [a, b, c]')],
    });
    const blocks = composed.map(({ name, description = '' }) => description.slice(`Base of ${name}.`.length));
    expect(new Set(blocks).size).toBe(1);
    expect(blocks[0]).toContain('## Methodology');
  });
  test('3.1 unknown names are skipped, and a skill without any target gets an info diagnostic', () => {
    const { tools: composed, diagnostics } = compose({
      active: [skill('name: x\nreferences_tools: [gone]')],
    });
    expect(composed).toEqual(tools('t'));
    expect(diagnostics).toMatchObject([{ severity: 'info', code: 'rides-nothing', skill: 'x' }]);
    expect(compose({ active: [skill('name: x\nreferences_tools: [gone, t]')] }).diagnostics).toEqual([]);
  });
  test('3.1 a skill that names a tool by its old name no longer reaches it', () => {
    const input = { tools: tools('new_name'), active: [skill('name: old_name')] };
    expect(compose(input).tools).toEqual(tools('new_name'));
  });
  test('1.2 auto_inject_hint: false rides nowhere, and that is no finding', () => {
    const { tools: composed, diagnostics } = compose({ active: [skill('name: t\nauto_inject_hint: false')] });
    expect(composed).toEqual(tools('t'));
    expect(diagnostics).toEqual([]);
  });
  test('3.1 names of registry items match a tool whose `_` and `-` differ; names of files do not', () => {
    const item = skill('name: find-papers', 'Do.', { matching: 'alike' });
    const input = { tools: tools('find_papers', 'find-papers', 'findpapers'), active: [item] };
    expect(compose(input).rides.map(({ tool }) => tool)).toEqual(['find_papers', 'find-papers']);
    expect(compose({ ...input, active: [skill('name: find-papers')] }).rides.map(({ tool }) => tool)).toEqual(
      ['find-papers'],
    );
    const referring = skill('name: x\nreferences_tools: [find-papers]', 'Do.', { matching: 'alike' });
    expect(compose({ ...input, active: [referring] }).rides.map(({ tool }) => tool)).toEqual(['find-papers']);
  });
});

describe('3.2 block', () => {
  test('3.2 the whole form', () => {
    const active = [skill('name: t\ndescription: "  when it fits \\n"', '\n\n# How\n\nDo  it.\n\n')];
    expect(text({ active })).toBe(
      'Base of t.\n\n<!-- mcp-skill:t -->\n\n## When to use\n\nwhen it fits\n\n## Methodology\n\n# How\n\nDo  it.',
    );
  });
  test('3.2 without a base text the result starts at the marker', () => {
    for (const tool of [{ name: 't' }, { name: 't', description: '' }]) {
      expect(text({ tools: [tool], active: [skill('name: t', 'x')] })).toBe(
        '<!-- mcp-skill:t -->\n\n## Methodology\n\nx',
      );
    }
  });
  test('3.2 the base text stays byte for byte, white space at its end too', () => {
    const base = '  Base \r\n\n\t';
    const description = text({ tools: [{ name: 't', description: base }], active: [skill('name: t', 'x')] });
    expect(description.startsWith(`${base}\n\n<!-- mcp-skill:t -->`)).toBe(true);
  });
  test('3.2 a blank description removes its part; a blank body leaves the heading as the last line', () => {
    expect(text({ active: [skill('name: t\ndescription: "  "', ' \n ')] })).toBe(
      'Base of t.\n\n<!-- mcp-skill:t -->\n\n## Methodology',
    );
  });
  test('3.2 CRLF inside stays', () => {
    expect(text({ active: [skill('name: t', 'a\r\nb\r\n')] })).toMatch(/a\r\nb$/);
  });
  test('bug 1: no injected text points at prompts/get', () => {
    for (const delivery of ['eager', 'lazy'] as const) {
      expect(text({ delivery, active: [skill('name: t\ndescription: d', 'b')] })).not.toContain('prompts/');
    }
  });
  test('bug 3: the routing text precedes the method', () => {
    const description = text({ active: [skill('name: t\ndescription: d', 'b')] });
    expect(description.indexOf('## When to use')).toBeGreaterThan(0);
    expect(description.indexOf('## When to use')).toBeLessThan(description.indexOf('## Methodology'));
  });
  test('bug 17: only the description is touched', () => {
    const tool = {
      name: 't',
      description: 'b',
      inputSchema: { type: 'object' },
      outputSchema: { x: 1 },
      _meta: { a: 1 },
    };
    const [composed] = composeTools({
      tools: [tool],
      active: [skill('name: t')],
      delivery: 'auto',
      cap: null,
      loader: null,
    }).tools;
    expect({ ...composed, description: 'b' }).toEqual(tool);
  });
});

describe('3.3 order', () => {
  test('3.3 the skill of the tool’s name first, then by name in byte order of UTF-8', () => {
    const others = ['a', 'Z', 'é', '"\\U0001F600"', '"\\uFFFD"', 'zz'].map((name) =>
      skill(`name: ${name}\nreferences_tools: [t]`),
    );
    for (const active of [
      [...others, skill('name: t')],
      [skill('name: t'), ...others.toReversed()],
    ]) {
      expect(markers(text({ active }))).toEqual(['t', 'Z', 'a', 'zz', 'é', '\uFFFD', '\u{1F600}']);
    }
  });
  test('3.3 of two that are named like the tool the exact one comes first', () => {
    const active = [skill('name: read-graph', 'x', { matching: 'alike' }), skill('name: read_graph')];
    expect(markers(text({ tools: tools('read_graph'), active }, 'read_graph'))).toEqual([
      'read_graph',
      'read-graph',
    ]);
  });
});

describe('3.4 once only', () => {
  test('3.4 equal inputs give equal bytes', () => {
    const input = {
      tools: tools('t', 'u'),
      active: [skill('name: t\nreferences_tools: [u]'), skill('name: u')],
    };
    expect(JSON.stringify(compose(input))).toBe(JSON.stringify(compose(input)));
  });
  test('3.4 a marker in the base text suppresses that skill on that tool, with a diagnostic', () => {
    const all = [{ name: 't', description: 'Own.\n\n<!-- mcp-skill:a -->\n\nits text' }, ...tools('u')];
    const active = [skill('name: a\nreferences_tools: [t, u]'), skill('name: b\nreferences_tools: [t]')];
    const { tools: composed, diagnostics } = compose({ tools: all, active });
    expect(markers(composed[0]?.description ?? '')).toEqual(['a', 'b']);
    expect(composed[0]?.description?.startsWith(all[0]?.description ?? '-')).toBe(true);
    expect(markers(composed[1]?.description ?? '')).toEqual(['a']);
    expect(diagnostics).toMatchObject([{ code: 'already-there', tool: 't', skill: 'a' }]);
  });
  test('3.4 a forged or cut marker suppresses nothing', () => {
    for (const forged of [
      '<!-- mcp-skill:a',
      '<!-- mcp-skill:ab -->',
      '<!--mcp-skill:a-->',
      'mcp-skill:a -->',
      '<!-- mcp-skill:A -->',
    ]) {
      const all = [{ name: 't', description: forged }];
      expect(text({ tools: all, active: [skill('name: a\nreferences_tools: [t]', 'the method')] })).toContain(
        'the method',
      );
    }
  });
  test('3.4 `a` and `ab` never collide', () => {
    const all = [{ name: 't', description: '<!-- mcp-skill:ab -->' }];
    const active = ['a', 'ab'].map((name) => skill(`name: ${name}\nreferences_tools: [t]`));
    expect(markers(text({ tools: all, active }))).toEqual(['ab', 'a']);
  });
  test('3.4 a marker inside another skill’s body suppresses nothing', () => {
    const active = [
      skill('name: a\nreferences_tools: [t]', '<!-- mcp-skill:b -->'),
      skill('name: b\nreferences_tools: [t]', 'method of b'),
    ];
    expect(text({ active })).toContain('method of b');
  });
  test('a proxied server that injects every skill itself is passed on as it is', () => {
    const first = compose({ active: [skill('name: t\ndescription: d')] });
    const second = compose({ tools: first.tools, active: [skill('name: t\ndescription: d')] });
    expect(second.tools[0]).toBe(first.tools[0]);
    expect(second.rides).toEqual([]);
  });
});

describe('4 delivery', () => {
  const long = skill('name: t\ndescription: when', 'm'.repeat(3000));
  const LAZY =
    'Before you first use this tool, read the method: call `skills` with action "get" and name "t".';
  test('4 lazy: marker and routing whole, one sentence for the method', () => {
    expect(text({ delivery: 'lazy', active: [skill('name: t\ndescription: when', 'm')] })).toBe(
      `Base of t.\n\n<!-- mcp-skill:t -->\n\n## When to use\n\nwhen\n\n${LAZY}`,
    );
  });
  test('4 the name is a JSON string literal', () => {
    const active = [skill('name: "a\\"\\\\b"\nreferences_tools: [t]')];
    expect(text({ delivery: 'lazy', active })).toContain('and name "a\\"\\\\b".');
  });
  test('4 auto: exactly at the cap is eager, one above is lazy', () => {
    const eager = text({ active: [long] });
    expect(text({ active: [long], cap: eager.length })).toBe(eager);
    const cut = text({ active: [long], cap: eager.length - 1 });
    expect(cut).toContain(LAZY);
    expect(cut).not.toContain('## Methodology');
  });
  test('4 auto: length is counted in UTF-16 units', () => {
    const emoji = skill('name: t', '😀'.repeat(100));
    const { length } = text({ active: [emoji] });
    expect(length).toBe('Base of t.\n\n<!-- mcp-skill:t -->\n\n## Methodology\n\n'.length + 200);
    expect(compose({ active: [emoji], cap: length - 1 }).rides).toMatchObject([{ form: 'lazy' }]);
  });
  test('4 auto: every block on that tool is lazy, and other tools are judged on their own', () => {
    const short = skill('name: short\nreferences_tools: [t, u]', 'short method');
    const { rides } = compose({ tools: tools('t', 'u'), active: [long, short], cap: 1024 });
    expect(rides.map(({ tool, form }) => [tool, form])).toEqual([
      ['t', 'lazy'],
      ['u', 'eager'],
    ]);
    expect(text({ tools: tools('t', 'u'), active: [long, short], cap: 1024 })).not.toContain('short method');
  });
  test('4 without a known cap auto is eager', () => {
    expect(compose({ active: [long] }).rides).toMatchObject([{ form: 'eager' }]);
  });
  test.each<[Delivery, string, string | null]>([
    ['eager', 'eager', 'skills'],
    ['lazy', 'lazy', 'skills'],
    ['lazy', 'eager', null],
    ['auto', 'eager', null],
  ])(
    '4 %s is %s with loader %j, whatever the cap, and too long is a diagnostic',
    (delivery, form, loader) => {
      const { rides, diagnostics } = compose({
        active: [long],
        delivery,
        cap: 20,
        loader,
        client: 'Claude Code',
      });
      expect(rides).toMatchObject([{ form }]);
      expect(diagnostics).toMatchObject([{ code: 'over-cap', tool: 't' }]);
      expect(diagnostics[0]?.message).toMatch(
        new RegExp(`\`t\` has ${rides[0]?.length} characters.*Claude Code shows 20`),
      );
    },
  );
  test('4 when even the lazy text is too long it is sent whole, with the diagnostic', () => {
    const { tools: composed, diagnostics } = compose({
      active: [skill(`name: t\ndescription: ${'r'.repeat(500)}`, 'm')],
      cap: 100,
    });
    expect(composed[0]?.description).toContain('r'.repeat(500));
    expect(diagnostics).toMatchObject([{ code: 'over-cap' }]);
  });
  test('4 a blank body has nothing to load', () => {
    expect(text({ delivery: 'lazy', active: [skill('name: t\ndescription: when', ' \n')] })).toBe(
      'Base of t.\n\n<!-- mcp-skill:t -->\n\n## When to use\n\nwhen',
    );
  });
  test('4 a loader of another name is the one that the sentence names', () => {
    expect(text({ delivery: 'lazy', loader: 'repertoire_skills', active: [long] })).toContain(
      'call `repertoire_skills` with',
    );
  });
  test('4 caps: Claude Code 2,048, OpenAI-style 1,024, none for those who show all and for strangers', () => {
    const cap = (id: ClientId) => descriptionCap(CLIENTS.find((client) => client.id === id) as ClientRow);
    expect([cap('claude-code'), cap('chatgpt'), cap('codex')]).toEqual([2048, 1024, 1024]);
    expect([cap('opencode'), cap('gemini-cli'), cap('cursor'), descriptionCap(null)]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    for (const client of CLIENTS) {
      if (typeof client.tool !== 'number' || client.tool === Number.POSITIVE_INFINITY) continue;
      expect(descriptionCap(client)).toBe(client.tool);
    }
  });
  test('bug 12: lazy beats eager, and a list of 30 tools stays within each cap', () => {
    const names = Array.from({ length: 30 }, (_, index) => `tool_${index}`);
    const active: RidingSkill[] = names.map((name) =>
      skill(`name: ${name}\ndescription: ${'when '.repeat(20)}`, 'm'.repeat(12_000)),
    );
    const size = (cap: number | null) =>
      JSON.stringify(compose({ tools: tools(...names), active, cap }).tools).length;
    expect(size(null)).toBeGreaterThan(360_000);
    for (const cap of [2048, 1024]) expect(size(cap)).toBeLessThan(30 * cap);
  });
  test('rides say what each skill adds', () => {
    const active = [skill('name: t', 'x'), skill('name: u\nreferences_tools: [t]', 'y')];
    const { rides, tools: composed } = compose({ active });
    const [ride] = rides;
    expect(ride).toMatchObject({
      tool: 't',
      baseLength: 'Base of t.'.length,
      length: composed[0]?.description?.length,
    });
    expect((ride?.baseLength ?? 0) + (ride?.skills ?? []).reduce((sum, { chars }) => sum + chars, 0)).toBe(
      ride?.length,
    );
  });
});
