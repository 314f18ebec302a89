import type { EditBody, WriteAnswer } from '../../schema/api.ts';
import { replaceDescription, replaceInstructions } from '../../schema/compose.ts';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { type FileChanges, MAIN_FILE } from '../../schema/item.ts';
import { loadBlobs } from './blobs.ts';
import type { Commit } from './commit.ts';
import { checkContent } from './confirm.ts';
import { type Content, prepareContent } from './content.ts';
import type { Context } from './context.ts';
import type { Head, ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

type Edit = Omit<EditBody, 'expected_revision'> & {
  readonly expected_revision?: number | undefined;
};

/**
 * Changes an item: description or instructions (only that span of the main file), files, state. With
 * `expected_revision` it is refused when that is no longer current; without, it applies to whatever is. An edit that
 * changes nothing makes no revision.
 * @throws RegistryError `not_found`, `conflict`, `name_change`, `credential`, `confirmation_required`, those of `prepareContent`
 */
export async function editItem(ctx: Context, ref: ItemRef, input: Edit): Promise<WriteAnswer> {
  const { description, instructions, files, state } = input;
  if (description === undefined && instructions === undefined && files === undefined && state === undefined) {
    throw new RegistryError(
      'invalid_input',
      'This edit changes nothing; give a description, instructions, files or a state.',
    );
  }
  return writeOnHead(ctx, ref, input.expected_revision, async (head, main) => {
    if (head.state === 'removed') {
      throw new RegistryError(
        'not_found',
        `The ${head.kind} ${head.name} was removed; restore it before editing it.`,
      );
    }
    const content = await editedContent(ctx, head, main, input);
    const next = state ?? head.state;
    const types: Commit['types'][number][] = [];
    if (content) types.push('edited');
    if (next !== head.state) types.push(next === 'active' ? 'enabled' : 'disabled');
    const [first, ...others] = types;
    if (first === undefined) return null;
    const also = content ? await checkContent(ctx, head.id, content, input.confirm) : [];
    return { id: head.id, head, content, state: next, types: [first, ...others], also };
  });
}

async function editedContent(
  ctx: Context,
  head: Head,
  main: Uint8Array,
  input: Edit,
): Promise<Content | null> {
  const changes = mainChanges(head, main, input);
  if (Object.keys(changes).length === 0) return null;
  const content = await prepareContent({
    kind: head.kind,
    parent: head.files,
    changes,
    fallbackName: head.name,
    load: loadBlobs(ctx),
  });
  if (content.name !== head.name) {
    throw new RegistryError(
      'name_change',
      `This edit would rename ${head.name} to ${content.name} in its ${MAIN_FILE[head.kind]}; keep the name, or use rename.`,
      { field: 'name' },
    );
  }
  return content.digest === head.digest ? null : content;
}

function mainChanges(
  head: Head,
  main: Uint8Array,
  { description, instructions, files = {} }: Edit,
): FileChanges {
  const path = MAIN_FILE[head.kind];
  if (description === undefined && instructions === undefined) return files;
  const written = files[path];
  if (written === null || (written && !('text' in written))) {
    throw new RegistryError(
      'invalid_input',
      `Description and instructions stand in ${path}; change them there or by themselves, not both at once.`,
      { path },
    );
  }
  let text = written?.text ?? decodeText(main) ?? '';
  if (description !== undefined) text = replaceDescription(text, description);
  if (instructions !== undefined) text = replaceInstructions(text, instructions);
  return { ...files, [path]: { ...written, text } };
}
