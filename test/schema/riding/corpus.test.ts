import { expect, test } from 'vitest';
import { composeTools } from '../../../schema/riding/compose.ts';
import { readRidingSkill } from '../../../schema/riding/skill.ts';
import { corpusItems, hasCorpus } from '../corpus.ts';

test.skipIf(!hasCorpus)(
  'the skills of the corpus read as registry items: kept, or dropped with a reason',
  () => {
    const items = corpusItems().filter(({ kind }) => kind === 'skill');
    const results = items.map(({ path, bytes }) => ({
      path,
      ...readRidingSkill(path, bytes, { matching: 'alike' }),
    }));
    const dropped = results.filter(({ skill }) => skill === null);
    for (const { path, diagnostics } of dropped) {
      expect(diagnostics, path).toMatchObject([
        { code: 'dropped', path, message: expect.stringMatching(/\.$/) },
      ]);
    }
    expect(results.length - dropped.length).toBeGreaterThan(200);

    const skills = results.flatMap(({ skill }) => (skill === null ? [] : [skill]));
    for (const skill of skills) {
      expect(skill.gate).toBeNull();
      expect(new TextEncoder().encode(skill.method).length).toBeLessThanOrEqual(16_384);
      const tools = [{ name: skill.name.replaceAll('-', '_'), description: 'Base.' }];
      const { tools: composed, rides } = composeTools({
        tools,
        active: [skill],
        delivery: 'auto',
        cap: 2048,
        loader: 'skills',
      });
      expect(rides).toHaveLength(1);
      expect(composed[0]?.description?.startsWith(`Base.\n\n<!-- mcp-skill:${skill.name} -->\n\n`)).toBe(
        true,
      );
    }
  },
);
