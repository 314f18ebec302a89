import { expect, test } from 'vitest';
import type { Kind } from '../../../schema/item.ts';
import { parseSkillUri, skillUri } from '../../../worker/mcp/skill-uri.ts';

const PLACES: [Kind, string, string, string][] = [
  ['skill', 'deploy', 'SKILL.md', 'skill://deploy/SKILL.md'],
  ['skill', 'deploy', '', 'skill://deploy'],
  ['skill', 'deploy', 'references/Q & A#1?.md', 'skill://deploy/references/Q%20%26%20A%231%3F.md'],
  ['skill', 'deploy', '100%/ä.md', 'skill://deploy/100%25/%C3%A4.md'],
  ['persona', 'critic', 'PERSONA.md', 'skill://personas/critic/PERSONA.md'],
  ['persona', 'personas', 'SKILL.md', 'skill://personas/personas/SKILL.md'],
  ['skill', 'personas', 'critic/SKILL.md', 'skill://skills/personas/critic/SKILL.md'],
  ['skill', 'skills', 'personas/SKILL.md', 'skill://skills/skills/personas/SKILL.md'],
];

test.each(PLACES)('%s %s %j is %s, and back', (kind, name, path, uri) => {
  expect(skillUri({ kind, name, path })).toBe(uri);
  expect(parseSkillUri(uri)).toEqual({ kind, name, path });
  // The SDK hands on what WHATWG makes of a URI.
  expect(new URL(uri).href).toBe(uri);
});

test('a file may be asked for in any spelling that WHATWG keeps', () => {
  expect(parseSkillUri('skill://deploy/Q&A.md')).toEqual({ kind: 'skill', name: 'deploy', path: 'Q&A.md' });
});

test.each([
  'https://deploy/SKILL.md',
  'skill://',
  'skill:///SKILL.md',
  'skill://deploy/',
  'skill://deploy//SKILL.md',
  'skill://deploy/SKILL.md?x',
  'skill://deploy/SKILL.md#x',
  'skill://deploy/a%2Fb',
  'skill://deploy/%E0%A4%A',
  'skill://personas',
  'skill://skills',
  'skill://skills/deploy/SKILL.md',
])('%s names nothing', (uri) => {
  expect(parseSkillUri(uri)).toBeNull();
});
