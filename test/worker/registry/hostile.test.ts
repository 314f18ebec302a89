import { expect, test } from 'vitest';
import { createItem } from '../../../worker/registry/create.ts';
import { editItem } from '../../../worker/registry/edit.ts';
import { getFile } from '../../../worker/registry/read.ts';
import { renameItem } from '../../../worker/registry/rename.ts';
import { openTestRegistry, skillText } from './harness.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("a skill's own PERSONA.md, and a persona's SKILL.md, is never taken for the main file", async () => {
  const { ctx } = await openTestRegistry();
  const mains = { skill: 'SKILL.md', persona: 'PERSONA.md' } as const;
  for (const [kind, main, other] of [
    ['skill', mains.skill, mains.persona],
    ['persona', mains.persona, mains.skill],
  ] as const) {
    await createItem(await ctx(), {
      kind,
      files: { [main]: { text: skillText('a') }, [other]: { text: 'Something else, without front matter.' } },
    });
    const ref = { kind, name: 'a' };
    await editItem(await ctx(), ref, { description: 'Changed.' });
    await renameItem(await ctx(), ref, 'b', 2);
    const renamed = { kind, name: 'b' };
    expect(text((await getFile(await ctx(), renamed)).bytes)).toBe(skillText('b', 'Changed.', '# a\n'));
    expect(text((await getFile(await ctx(), renamed, other)).bytes)).toContain('Something else');
  }
});
