import { expect, test } from 'vitest';
import { composeTools, type RidingTool } from '../../../schema/riding/compose.ts';
import { type RidingSkill, readRidingSkill } from '../../../schema/riding/skill.ts';
import { Random } from '../../agent/random.ts';

const ROUNDS = 400;
const PIECES = [
  'a',
  'é',
  '€',
  '😀',
  '\n',
  '\r\n',
  ' ',
  '\u0085',
  '`',
  '---\n',
  '## When to use\n',
  '<!-- mcp-skill:s1 -->',
  '\uFEFF',
  '<',
  '"',
  '\\',
];
const NAMES = ['s1', 's11', 's-2', 's_2', 'größe', 'x y', '"q"', '😀', 't0'];

function prose(random: Random, most: number): string {
  return Array.from({ length: random.below(most + 1) }, () => random.pick(PIECES)).join('');
}

function someSkills(random: Random, tools: readonly RidingTool[]): RidingSkill[] {
  const named = NAMES.filter(() => random.chance(0.5));
  return named.map((name) => {
    const references = tools.map((tool) => tool.name).filter(() => random.chance(0.4));
    const front = [
      `name: ${JSON.stringify(name)}`,
      `description: ${JSON.stringify(prose(random, 20))}`,
      `references_tools: ${JSON.stringify([...references, 'absent', ...references])}`,
      `auto_inject_hint: ${random.chance(0.9)}`,
    ];
    const body = random.chance(0.1)
      ? random.pick(PIECES).repeat(9000 + random.below(9000))
      : prose(random, 200);
    const matching = random.chance(0.5) ? 'alike' : 'exact';
    const { skill } = readRidingSkill('x.md', `---\n${front.join('\n')}\n---\n${body}`, { matching });
    return skill as RidingSkill;
  });
}

function someInput(seed: number) {
  const random = new Random(seed);
  const count = 1 + random.below(5);
  const tools: RidingTool[] = Array.from({ length: count }, (_, index) => {
    const name = random.pick([...NAMES, `t${index}`]);
    return random.chance(0.2) ? { name } : { name, description: prose(random, 40) };
  });
  return {
    tools,
    active: someSkills(random, tools),
    delivery: random.pick(['eager', 'lazy', 'auto'] as const),
    cap: random.pick([null, 160, 1024, 2048]),
    loader: random.pick(['skills', null]),
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);

test('composing is deterministic, whatever the order of the skills', () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    const input = someInput(seed);
    const once = composeTools(input);
    expect(composeTools(input)).toEqual(once);
    expect(composeTools({ ...input, active: input.active.toReversed() }).tools).toEqual(once.tools);
  }
});

test('composing is idempotent: what carries its skills gets none again', () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    const input = someInput(seed);
    const { tools } = composeTools(input);
    expect(composeTools({ ...input, tools }).tools).toEqual(tools);
  }
});

test('composing never changes the base text or anything that it was given', () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    const input = someInput(seed);
    const before = structuredClone(input);
    const { tools } = composeTools(input);
    expect(input).toEqual(before);
    for (const [index, { name, description = '' }] of tools.entries()) {
      const base = input.tools[index];
      expect(name).toBe(base?.name);
      expect(description.startsWith(base?.description ?? '')).toBe(true);
    }
  }
});

test('auto never exceeds a cap when routing fits', () => {
  let lazy = 0;
  for (let seed = 0; seed < ROUNDS * 3; seed++) {
    const input = { ...someInput(seed), delivery: 'auto' as const, loader: 'skills' };
    if (input.cap === null) continue;
    const shortest = composeTools({ ...input, delivery: 'lazy' });
    const { rides } = composeTools(input);
    expect(rides).toHaveLength(shortest.rides.length);
    for (const [index, ride] of rides.entries()) {
      const fits = (shortest.rides[index]?.length ?? 0) <= input.cap;
      if (fits) expect(ride.length).toBeLessThanOrEqual(input.cap);
      if (fits && ride.form === 'lazy') lazy++;
    }
  }
  expect(lazy).toBeGreaterThan(50);
});

test('every text is valid UTF-8, each skill stands once, and bodies keep within 16 KB', () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    const { active, tools, ...input } = someInput(seed);
    // Without marker-like prose, so that every marker is one of ours.
    const clean = active.map((skill) => ({
      ...skill,
      method: skill.method.replaceAll('<!--', ''),
      description: '',
    }));
    const bare = tools.map(({ name }) => ({ name, description: 'base' }));
    for (const { description = '' } of composeTools({ ...input, tools: bare, active: clean }).tools) {
      const markers = description.match(/<!-- mcp-skill:.*? -->/g) ?? [];
      expect(new Set(markers).size).toBe(markers.length);
    }
    for (const { description = '' } of composeTools({ ...input, tools, active }).tools) {
      expect(description.isWellFormed()).toBe(true);
      expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes(description))).toBe(description);
    }
    for (const skill of active) expect(bytes(skill.method).length).toBeLessThanOrEqual(16_384);
  }
});
