import type { CreateBody, WriteAnswer } from '../../schema/api.ts';
import { composeItem } from '../../schema/compose.ts';
import { RegistryError } from '../../schema/errors.ts';
import { MAIN_FILE } from '../../schema/item.ts';
import { invalidName, isItemName } from '../../schema/name.ts';
import { loadBlobs } from './blobs.ts';
import { type Commit, commit, HeadMoved } from './commit.ts';
import { checkContent } from './confirm.ts';
import { prepareContent } from './content.ts';
import type { Context } from './context.ts';
import { tryReadHead } from './head.ts';
import { newId } from './random.ts';

/**
 * Writes a new item, from name, description and instructions or from files. A name that a removed item holds is taken
 * up again: the new content follows that item's last revision.
 * @throws RegistryError `name_taken`, `name_change`, `credential`, `confirmation_required`, those of `prepareContent`
 */
export async function createItem(ctx: Context, input: CreateBody): Promise<WriteAnswer> {
  await ctx.enter();
  ctx.require('skills:write');
  const { kind } = input;
  if (input.files && (input.description !== undefined || input.instructions !== undefined)) {
    throw new RegistryError(
      'invalid_input',
      `A new ${kind} is made from files or from description and instructions, not from both; put them into its ${MAIN_FILE[kind]}.`,
      { field: 'files' },
    );
  }
  const content = await prepareContent({
    kind,
    parent: [],
    changes: input.files ?? composed(input),
    fallbackName: input.name ?? input.fallback_name,
    load: loadBlobs(ctx),
  });
  if (input.name !== undefined && content.name !== input.name) {
    throw new RegistryError(
      'name_change',
      `The item is called ${input.name}, but the name in its ${MAIN_FILE[kind]} is ${content.name}; make both the same.`,
      { field: 'name' },
    );
  }
  const found = await tryReadHead(ctx, { kind, name: content.name });
  const head = found?.head ?? null;
  if (head && head.state !== 'removed') {
    throw new RegistryError(
      'name_taken',
      `There is already a ${kind} named ${content.name}; choose another name or edit that one.`,
      {
        field: 'name',
        current_revision: head.revision,
      },
    );
  }
  const id = head?.id ?? newId();
  const also = await checkContent(ctx, id, content, input.confirm);
  const write: Commit = { id, head, content, state: 'active', types: ['created'], also };
  try {
    return await commit(ctx, write);
  } catch (error) {
    if (!(error instanceof HeadMoved)) throw error;
    throw new RegistryError(
      'name_taken',
      `A ${kind} named ${content.name} was created at the same moment; choose another name or edit that one.`,
      {
        field: 'name',
      },
    );
  }
}

function composed(input: CreateBody) {
  const { kind, name, description, instructions } = input;
  if (name === undefined || description === undefined || instructions === undefined) {
    const missing = Object.entries({ name, description, instructions }).flatMap(([key, value]) =>
      value === undefined ? [key] : [],
    );
    throw new RegistryError(
      'invalid_input',
      `A new ${kind} is made from files or from name, description and instructions; ${missing.join(' and ')} missing.`,
      {
        field: missing[0] ?? 'name',
      },
    );
  }
  if (!isItemName(name)) throw invalidName(name);
  return { [MAIN_FILE[kind]]: { text: composeItem({ kind, name, description, instructions }) } };
}
