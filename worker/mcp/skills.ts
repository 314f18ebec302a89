import {
  renderFile,
  renderGuidelines,
  renderHits,
  renderList,
  type SkillsInput,
} from '../../schema/tools.ts';
import { encodeContent } from '../registry/blobs.ts';
import type { Context } from '../registry/context.ts';
import { getGuidelines } from '../registry/guidelines.ts';
import { notFound } from '../registry/head.ts';
import { getFile, listItems } from '../registry/read.ts';
import { searchItems } from '../registry/search.ts';

/** The tool `skills`: reads, and creates nothing. One round trip whatever the action. */
export async function skills(ctx: Context, input: SkillsInput): Promise<string> {
  const { kind, start } = input;
  switch (input.action) {
    case 'list':
      return renderList(await listItems(ctx, { kind }), { start });
    case 'search':
      return renderHits(await searchItems(ctx, { query: input.query ?? '', kind }));
    case 'guidelines':
      return renderGuidelines((await getGuidelines(ctx)).text);
    case 'get': {
      const ref = { kind, name: input.name ?? '' };
      const { item, entry, bytes } = await getFile(ctx, ref, input.path);
      if (item.state === 'removed') throw notFound(ref);
      return renderFile(item, { path: entry.path, ...encodeContent(bytes) }, { start });
    }
  }
}
