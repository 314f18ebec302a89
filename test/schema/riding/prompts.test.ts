import { expect, test } from 'vitest';
import { activeSet } from '../../../schema/riding/active-set.ts';
import { loadSkill } from '../../../schema/riding/load.ts';
import { getPrompt, listPrompts } from '../../../schema/riding/prompts.ts';
import { skill } from './skills.ts';

const ACTIVE = [
  skill('name: é', 'e'),
  skill('name: b\ndescription: "  as parsed "', '\n\nraw body\n\n'),
  skill('name: a\nauto_inject_hint: false\nreferences_tools: [t]'),
];

test('6 every active skill by name in byte order, with the description as parsed when there is one', () => {
  expect(listPrompts(ACTIVE)).toEqual([
    { name: 'a' },
    { name: 'b', description: '  as parsed ' },
    { name: 'é' },
  ]);
  expect(listPrompts([])).toEqual([]);
});

test('6 one user message with the raw body, neither trimmed nor cut', () => {
  expect(getPrompt(ACTIVE, 'b')).toEqual({
    messages: [{ role: 'user', content: { type: 'text', text: '\n\nraw body\n\n' } }],
  });
  const long = skill('name: long', 'x'.repeat(20_000));
  expect(getPrompt([long], 'long')).toMatchObject({ messages: [{ content: { text: 'x'.repeat(20_000) } }] });
});

test('6 unknown and inactive names get one error with the name and the sorted active ones', () => {
  const error = getPrompt(ACTIVE, 'secret');
  expect(error).toMatchObject({ error: { code: -32602 } });
  expect(JSON.stringify(error)).toContain('active now: a, b, é');
  expect(JSON.stringify(getPrompt([], 'x'))).toContain('(none)');
  expect(error).toEqual(getPrompt(ACTIVE.toReversed(), 'secret'));
});

test('4 `skills` get: an unknown name is an error that lists the active ones and no other', () => {
  expect(loadSkill(ACTIVE, 'x')).toEqual({
    text: 'There is no skill "x" here; active now: a, b, é.',
    isError: true,
  });
  expect(loadSkill([], 'x').text).toContain('(none)');
});

test('4 `skills` get: a skill that rides nowhere can be loaded', () => {
  expect(JSON.parse(loadSkill(ACTIVE, 'a').text)).toEqual({
    kind: 'skill',
    name: 'a',
    text: 'Do it well.\n',
  });
});

test('bug 13: a body of 16,384 bytes comes back whole in one page', () => {
  const body = 'x'.repeat(16_384);
  expect(JSON.parse(loadSkill([skill('name: a', body)], 'a').text)).toEqual({
    kind: 'skill',
    name: 'a',
    text: body,
  });
});

test('4 `skills` get: pages join to the body, and none ends inside a character', () => {
  const body = `x${'😀'.repeat(30_000)}`;
  const active = [skill('name: a', body)];
  let joined = '';
  let start: number | undefined = 0;
  let pages = 0;
  while (start !== undefined) {
    const { text, isError } = loadSkill(active, 'a', start);
    const page = JSON.parse(text) as { text: string; next_start?: number };
    expect(isError).toBe(false);
    expect(page.text.isWellFormed()).toBe(true);
    joined += page.text;
    start = page.next_start;
    pages++;
  }
  expect(joined).toBe(body);
  expect(pages).toBe(4);
});

test('5.1 the active set differs when a name or a content does, and not with order, source or gate', async () => {
  const [a, b] = [skill('name: a\ndescription: d'), skill('name: b')];
  const set = await activeSet([a, b]);
  expect(await activeSet([b, a])).toBe(set);
  expect(await activeSet([{ ...a, source: 'elsewhere.md' }, skill('name: b\napplies_when: {}')])).toBe(set);
  const others = [
    [a],
    [a, skill('name: c')],
    [a, skill('name: b', 'other body')],
    [skill('name: a\ndescription: e'), b],
    [a, skill('name: b\nreferences_tools: [t]')],
    [a, skill('name: b\nauto_inject_hint: false')],
    [],
  ];
  const sets = await Promise.all(others.map((other) => activeSet(other)));
  expect(new Set([set, ...sets]).size).toBe(others.length + 1);
});

test('bug 15: what a session was told decides about a notice, and fetching again triggers none', async () => {
  const told = await activeSet([]);
  const loaded = await activeSet([skill('name: code')]);
  expect(loaded).not.toBe(told);
  expect(await activeSet([skill('name: code')])).toBe(loaded);
});
