import { Hono } from 'hono';
import { z } from 'zod';
import {
  CreateBody,
  EditBody,
  type ItemHistory,
  type ItemList,
  RenameBody,
  RestoreBody,
  type SearchAnswer,
  type WriteAnswer,
} from '../../schema/api.ts';
import { type Item, Kind } from '../../schema/item.ts';
import { type AppEnv, callerOf } from '../deps.ts';
import { createItem } from '../registry/create.ts';
import { editItem } from '../registry/edit.ts';
import { itemHistory } from '../registry/history.ts';
import { getFile, getItem, listItems } from '../registry/read.ts';
import { removeItem } from '../registry/remove.ts';
import { renameItem } from '../registry/rename.ts';
import { restoreItem } from '../registry/restore.ts';
import { searchItems } from '../registry/search.ts';
import { bytesAnswer } from './bytes.ts';
import { bodyOf, itemOf, queryOf } from './input.ts';

const Filter = z.object({
  kind: Kind.optional(),
  q: z.string().min(1).optional(),
  removed: z.enum(['0', '1']).optional(),
});
const Expected = z.object({ expected_revision: z.coerce.number().int().positive() });

/**
 * Items, under `/items`. Reading needs the scope `skills:read`, writing `skills:write`. Every write but the first names
 * the revision that it is based on, and is refused with `conflict` (409: `current_revision`, `differs`) when that is
 * stale. Shapes are in `schema/api.ts`; besides those named, every route answers `unauthorized` and `insufficient_scope`,
 * and one for a single item `not_found`, which is also what another account's items are.
 */
export const items = new Hono<AppEnv>();

/**
 * `CreateBody` → 201 `WriteAnswer`. Errors: `name_taken`, `name_change`, `invalid_name`, `invalid_path`,
 * `path_collision`, `invalid_front_matter`, `too_large`, `credential`, `confirmation_required` (`findings`).
 */
items.post('/', async (c) => {
  const ctx = await callerOf(c);
  const answer: WriteAnswer = await createItem(ctx, await bodyOf(c, CreateBody));
  return c.json(answer, 201, {
    location: `${new URL(c.req.url).pathname}/${answer.item.kind}/${answer.item.name}`,
  });
});

/** `?kind=&removed=1` → `ItemList`, by kind and name. With `?q=` words → `SearchAnswer`, best first. */
items.get('/', async (c) => {
  const { kind, q, removed } = queryOf(c, Filter);
  const ctx = await callerOf(c);
  if (q !== undefined)
    return c.json({ hits: await searchItems(ctx, { query: q, kind }) } satisfies SearchAnswer);
  return c.json({ items: await listItems(ctx, { kind, removed: removed === '1' }) } satisfies ItemList);
});

/** → `Item`, removed ones too. */
items.get('/:kind/:name', async (c) => {
  const answer: Item = await getItem(await callerOf(c), itemOf(c));
  return c.json(answer);
});

/** `EditBody` → `WriteAnswer`. Errors: `conflict`, and those of creating. */
items.patch('/:kind/:name', async (c) => {
  const ctx = await callerOf(c);
  const answer: WriteAnswer = await editItem(ctx, itemOf(c), await bodyOf(c, EditBody));
  return c.json(answer);
});

/** `?expected_revision=` → `WriteAnswer`: the item is removed from every device and can be restored. Errors: `conflict`. */
items.delete('/:kind/:name', async (c) => {
  const { expected_revision } = queryOf(c, Expected);
  const answer: WriteAnswer = await removeItem(await callerOf(c), itemOf(c), expected_revision);
  return c.json(answer);
});

/** `RestoreBody` → `WriteAnswer`: a removed item, or an older revision as a new one. Errors: `conflict`, `name_change`. */
items.post('/:kind/:name/restore', async (c) => {
  const ctx = await callerOf(c);
  const answer: WriteAnswer = await restoreItem(ctx, itemOf(c), await bodyOf(c, RestoreBody));
  return c.json(answer);
});

/** `RenameBody` → `WriteAnswer`. Errors: `conflict`, `name_taken`, `invalid_name`. */
items.post('/:kind/:name/rename', async (c) => {
  const ctx = await callerOf(c);
  const { to, expected_revision } = await bodyOf(c, RenameBody);
  const answer: WriteAnswer = await renameItem(ctx, itemOf(c), to, expected_revision);
  return c.json(answer);
});

/** → `ItemHistory`, newest first. */
items.get('/:kind/:name/history', async (c) => {
  const answer: ItemHistory = await itemHistory(await callerOf(c), itemOf(c));
  return c.json(answer);
});

/** → one file of the current revision, byte for byte, its digest as ETag. */
items.get('/:kind/:name/files/:path{.+}', async (c) => {
  const path = c.req.param('path');
  const { entry, bytes } = await getFile(await callerOf(c), itemOf(c), path);
  return bytesAnswer(c.req.raw, { digest: entry.digest, bytes, name: path });
});
