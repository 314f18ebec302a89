import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CLIENTS } from '../../schema/clients.ts';
import { LIMITS } from '../../schema/item.ts';
import { listingCap, POINTER } from '../../schema/listing.ts';
import {
  LIST_CHARS,
  renderFile,
  renderGuidelines,
  renderHits,
  renderList,
  renderPage,
  renderWritten,
  SkillEditInput,
  SkillsInput,
  skillsDescription,
  TOOLS,
} from '../../schema/tools.ts';

const ITEM = {
  kind: 'skill' as const,
  name: 'pdf',
  description: 'Reads "PDFs".',
  state: 'active' as const,
  revision: 3,
  flags: [],
};
const FLAGS = [
  { code: 'description-long' as const, message: 'The description is long.', clients: ['copilot-cli'] },
];

describe('the tools', () => {
  test('names and hints', () => {
    expect(Object.keys(TOOLS)).toEqual(['skills', 'skill_edit']);
    expect(TOOLS.skills.annotations).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(TOOLS.skill_edit.annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    });
    expect(TOOLS.skills._meta).toEqual({ 'anthropic/alwaysLoad': true });
    expect(TOOLS.skill_edit).not.toHaveProperty('_meta');
  });

  test('descriptions fit every client, and their first sentences stand alone', () => {
    for (const { description } of Object.values(TOOLS)) {
      expect(description.length).toBeLessThanOrEqual(1024);
      expect(description).not.toMatch(/mcp__|mcp_|rec[-_]/);
    }
    expect(TOOLS.skills.description.slice(0, 150)).toMatch(
      /skills .* and personas .*\. Load one with action="get" when it fits/,
    );
    expect(TOOLS.skill_edit.description.slice(0, 200)).toMatch(
      /^Creates or edits .*only on their wish\. .* history\. It cannot remove an item\./,
    );
  });

  test('input schemas are plain JSON Schema objects', () => {
    for (const { inputSchema } of Object.values(TOOLS)) {
      const schema = z.toJSONSchema(inputSchema, { io: 'input' });
      expect(schema.type).toBe('object');
      expect(schema.required).toEqual(['action']);
      expect(schema).not.toHaveProperty('anyOf');
      expect(schema.additionalProperties).toBe(false);
    }
    expect(Object.keys(SkillsInput.shape)).toEqual(['action', 'name', 'kind', 'path', 'start', 'query']);
    expect(Object.keys(SkillEditInput.shape)).toEqual([
      'action',
      'kind',
      'name',
      'description',
      'instructions',
      'files',
      'state',
      'expected_revision',
    ]);
  });

  test.each([
    [SkillsInput, { action: 'list' }, true],
    [SkillsInput, { action: 'get', name: 'pdf', kind: 'skill', path: 'a/b.md', start: 0 }, true],
    [SkillsInput, { action: 'get' }, false],
    [SkillsInput, { action: 'search' }, false],
    [SkillsInput, { action: 'get', name: 'pdf', start: -1 }, false],
    [SkillsInput, { action: 'remove', name: 'pdf' }, false],
    [SkillsInput, { action: 'list', nmae: 'pdf' }, false],
    [SkillEditInput, { action: 'create', name: 'a', description: 'b', instructions: 'c' }, true],
    [SkillEditInput, { action: 'create', files: { 'SKILL.md': { text: 'x' } } }, true],
    [SkillEditInput, { action: 'create' }, false],
    [
      SkillEditInput,
      { action: 'edit', name: 'a', files: { 'b.md': null, 'c.bin': { base64: 'AAEC' } } },
      true,
    ],
    [SkillEditInput, { action: 'edit', description: 'b' }, false],
    [SkillEditInput, { action: 'edit', name: 'a', state: 'removed' }, false],
    [SkillEditInput, { action: 'edit', name: 'a', files: { 'b.md': { base64: '%' } } }, false],
    [SkillEditInput, { action: 'edit', name: 'a', expected_revision: 0 }, false],
    [SkillEditInput, { action: 'remove', name: 'a' }, false],
  ])('input %#: %j', (schema: z.ZodType, input, valid) => {
    expect(schema.safeParse(input).success).toBe(valid);
  });
});

describe('the description of skills', () => {
  const items = Array.from({ length: 300 }, (_, i) => ({
    kind: 'skill' as const,
    name: `skill-${i}`,
    description: 'Does a thing. '.repeat(20),
  }));
  const guidelines = 'One rule. '.repeat(800);

  test('with items is the listing, with where the current list is', () => {
    const text = skillsDescription({ items: items.slice(0, 2) });
    expect(
      text.startsWith(`${POINTER} This list may be outdated: skills(action="list") is the current one.`),
    ).toBe(true);
    expect(text).toContain('\nskill-0: Does a thing.');
  });

  test.each(CLIENTS.map((row) => [row.id, row] as const))('fits what %s shows', (_, row) => {
    const text = skillsDescription({ items, guidelines, cap: listingCap(row, 'tool-description') });
    expect(text.length).toBeLessThanOrEqual(Math.min(1000, typeof row.tool === 'number' ? row.tool : 1000));
    expect(text.startsWith(POINTER)).toBe(true);
  });

  test('without items is the head, and the guidelines where there are any', () => {
    expect(skillsDescription({ items: [] })).toBe(TOOLS.skills.description);
    expect(skillsDescription({ items: [], guidelines: 'Be brief.' })).toBe(
      `${TOOLS.skills.description}\n\nBe brief.`,
    );
    expect(skillsDescription({ items: [], guidelines }).length).toBeLessThanOrEqual(1000);
    expect(skillsDescription({ items: [], guidelines, cap: 160 })).toBe(TOOLS.skills.description);
  });
});

describe('pages', () => {
  test('30,000 characters come in two, joined without loss', () => {
    const text = '0123456789'.repeat(3000);
    const first = renderPage({ text });
    expect(first).toEqual({ text: text.slice(0, LIMITS.page), next_start: LIMITS.page });
    expect(renderPage({ text, start: first.next_start })).toEqual({ text: text.slice(LIMITS.page) });
  });

  test.each([0, 1, 2])('pairs stay whole with %i characters before them', (before) => {
    const text = 'x'.repeat(before) + '😀'.repeat(25_000);
    let start: number | undefined = 0;
    let joined = '';
    while (start !== undefined) {
      const page = renderPage({ text, start });
      expect(page.text.isWellFormed()).toBe(true);
      expect(page.text.length).toBeLessThanOrEqual(LIMITS.page);
      joined += page.text;
      start = page.next_start;
    }
    expect(joined).toBe(text);
  });

  test('a start inside a pair goes back to its beginning, one beyond the end is empty', () => {
    expect(renderPage({ text: 'a😀b', start: 2 })).toEqual({ text: '😀b' });
    expect(renderPage({ text: 'abc', start: 99 })).toEqual({ text: '' });
    expect(renderPage({ text: '' })).toEqual({ text: '' });
    expect(renderPage({ text: 'x'.repeat(LIMITS.page) })).not.toHaveProperty('next_start');
  });
});

describe('answers', () => {
  test('list', () => {
    expect(renderList([ITEM, { ...ITEM, kind: 'persona', state: 'disabled', flags: FLAGS }])).toBe(
      '{"total":2,"items":[' +
        '{"kind":"skill","name":"pdf","description":"Reads \\"PDFs\\".","state":"active","revision":3},' +
        '{"kind":"persona","name":"pdf","description":"Reads \\"PDFs\\".","state":"disabled","revision":3,"flags":[{"code":"description-long","message":"The description is long.","clients":["copilot-cli"]}]}' +
        ']}',
    );
    expect(renderList([], { notice: 'From the last known state.' })).toBe(
      '{"notice":"From the last known state.","total":0,"items":[]}',
    );
  });

  test('a list that no host would take comes in pages', () => {
    const items = Array.from({ length: 5000 }, (_, i) => ({
      ...ITEM,
      name: `n${i}`,
      description: 'x'.repeat(200),
    }));
    const names: string[] = [];
    let start: number | undefined = 0;
    while (start !== undefined) {
      const text = renderList(items, { start });
      expect(text.length).toBeLessThan(LIST_CHARS + 100);
      const page: { total: number; items: { name: string }[]; next_start?: number } = JSON.parse(text);
      expect(page.total).toBe(5000);
      names.push(...page.items.map(({ name }) => name));
      start = page.next_start;
    }
    expect(names).toEqual(items.map(({ name }) => name));
  });

  test('search', () => {
    expect(renderHits([{ ...ITEM, path: 'SKILL.md', passage: 'reads them' }])).toBe(
      '{"hits":[{"kind":"skill","name":"pdf","description":"Reads \\"PDFs\\".","state":"active","revision":3,"path":"SKILL.md","passage":"reads them"}]}',
    );
  });

  test('get: files with the first page, base64 for what is not text', () => {
    const item = { ...ITEM, files: [{ path: 'SKILL.md' }, { path: 'a.bin' }] };
    expect(renderFile(item, { path: 'SKILL.md', text: 'x\n' })).toBe(
      '{"kind":"skill","name":"pdf","state":"active","revision":3,"files":["SKILL.md","a.bin"],"path":"SKILL.md","text":"x\\n"}',
    );
    const text = 'y'.repeat(LIMITS.page + 1);
    expect(JSON.parse(renderFile(item, { path: 'b.md', text }))).toMatchObject({ next_start: LIMITS.page });
    expect(renderFile(item, { path: 'b.md', text }, { start: LIMITS.page })).toBe(
      '{"kind":"skill","name":"pdf","state":"active","revision":3,"path":"b.md","text":"y"}',
    );
    expect(JSON.parse(renderFile(item, { path: 'a.bin', base64: 'AAEC' }))).toMatchObject({ base64: 'AAEC' });
  });

  test('guidelines and skill_edit', () => {
    expect(renderGuidelines('Be brief.')).toBe('{"guidelines":"Be brief."}');
    expect(renderWritten({ ...ITEM, files: [{ path: 'SKILL.md' }] }, { replaced: 2 })).toBe(
      '{"kind":"skill","name":"pdf","description":"Reads \\"PDFs\\".","state":"active","revision":3,"replaced":2,"files":["SKILL.md"]}',
    );
  });
});
