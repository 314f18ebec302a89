import type { Result } from '@modelcontextprotocol/client';
import type { Asked } from './relay.ts';

/** A list that goes on longer than this never ends. */
const MOST_PAGES = 64;
const MOST_ENTRIES = 10_000;

/** Every page of a list, in one; the other keys are those of the first page. `note` is told what is left out. */
export async function everyPage<Entry>(
  { method, key }: { method: string; key: string },
  ask: (page: Asked) => Promise<Result>,
  note: (words: string) => void,
): Promise<{ entries: Entry[]; rest: Record<string, unknown> }> {
  const entries: Entry[] = [];
  let rest: Record<string, unknown> | undefined;
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES && entries.length < MOST_ENTRIES; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const { [key]: found, nextCursor, ...others } = await ask({ method, ...params });
    rest ??= others;
    for (const each of Array.isArray(found) ? found : []) {
      if (entries.length >= MOST_ENTRIES) break;
      const entry = named(each);
      if (entry) entries.push(entry as Entry);
      else note(`an entry without a name in the answer to ${method} is left out.`);
    }
    const last = nextCursor === undefined || nextCursor === null;
    if (last && entries.length < MOST_ENTRIES) return { entries, rest };
    if (last || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  note(
    `the answer to ${method} goes on and on; what comes after its first ${entries.length} entries is left out.`,
  );
  return { entries, rest: rest ?? {} };
}

/** An entry of a list as something that can be shown; null for what cannot be called or asked for by anybody. */
function named(entry: unknown): object | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { name, description, ...others } = entry as Record<string, unknown>;
  if (typeof name !== 'string') return null;
  return description === undefined || typeof description === 'string' ? entry : { name, ...others };
}
