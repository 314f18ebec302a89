import { RegistryError } from '../../schema/errors.ts';
import { renderWritten, type SkillEditInput } from '../../schema/tools.ts';
import type { Context } from '../registry/context.ts';
import { createItem } from '../registry/create.ts';
import { editItem } from '../registry/edit.ts';

/** The tool `skill_edit`: creates or edits, never removes. */
export async function skillEdit(ctx: Context, input: SkillEditInput): Promise<string> {
  const { action, kind, name, ...changes } = input;
  switch (action) {
    case 'create': {
      const { state, expected_revision, ...content } = changes;
      if (state !== undefined || expected_revision !== undefined) {
        throw new RegistryError(
          'invalid_input',
          'Nothing was created, because a new item is active and has no revision yet: leave out state and expected_revision.',
        );
      }
      const { item } = await createItem(ctx, { kind: kind ?? 'skill', name, ...content });
      return renderWritten(item);
    }
    case 'edit': {
      const { item } = await editItem(ctx, { kind, name: name ?? '' }, changes);
      const { expected_revision: read } = changes;
      return renderWritten(item, { replaced: read === item.revision ? undefined : read });
    }
  }
}
