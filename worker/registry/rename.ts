import type { WriteAnswer } from '../../schema/api.ts';
import { replaceName } from '../../schema/compose.ts';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { MAIN_FILE } from '../../schema/item.ts';
import { invalidName, isItemName } from '../../schema/name.ts';
import { loadBlobs } from './blobs.ts';
import { checkTexts } from './confirm.ts';
import { prepareContent } from './content.ts';
import type { Context } from './context.ts';
import type { ItemRef } from './head.ts';
import { writeOnHead } from './write.ts';

/**
 * Gives an item another name, in the registry and in its front matter. Its history goes with it; devices replace the
 * folder.
 * @throws RegistryError `invalid_name`, `name_taken` (by a removed item too), `not_found`, `conflict`, `credential`
 */
export async function renameItem(
  ctx: Context,
  ref: ItemRef,
  to: string,
  expected: number,
): Promise<WriteAnswer> {
  if (!isItemName(to)) throw invalidName(to, 'to');
  return writeOnHead(ctx, ref, expected, async (head, main) => {
    if (head.state === 'removed') {
      throw new RegistryError(
        'not_found',
        `The ${head.kind} ${head.name} was removed; restore it before renaming it.`,
      );
    }
    if (head.name === to) return null;
    const path = MAIN_FILE[head.kind];
    const content = await prepareContent({
      kind: head.kind,
      parent: head.files,
      changes: { [path]: { text: replaceName(decodeText(main) ?? '', to) } },
      fallbackName: to,
      load: loadBlobs(ctx),
    });
    const also = await checkTexts(ctx, head.id, [{ path: 'name', text: to }]);
    return { id: head.id, head, content, state: head.state, types: ['renamed'], also };
  });
}
