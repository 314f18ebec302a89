import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Cursor, Guidelines } from '../schema/api.ts';
import { Digest, Item } from '../schema/item.ts';
import { writeWhole, writing } from './json-file.ts';
import { openTable } from './table.ts';

/** An item as the registry last told it. */
export const MirrorItem = Item.extend({
  /** One sentence: why the agent does not take the registry's word for this item. Its files are left as they are. */
  refused: z.string().optional(),
});
export type MirrorItem = z.infer<typeof MirrorItem>;

const Head = z.object({ cursor: Cursor, guidelines: Guidelines });
type Head = z.infer<typeof Head>;

/** One line of the mirror's table: an item by its id, or under the empty key where the mirror is. */
const Row = z.union([z.object({ item: MirrorItem }), z.object({ head: Head })]);
type Row = z.infer<typeof Row>;

const NO_GUIDELINES: Guidelines = { text: '', updated_at: null };

/** The registry's last known state on this device: what is planned from, and what is answered from while offline. */
export interface Mirror {
  readonly cursor: string | null;
  /** When the registry last told anything, in milliseconds since the epoch; null before it ever did. */
  readonly heardAt: number | null;
  readonly guidelines: Guidelines;
  item(id: string): MirrorItem | undefined;
  /** Tombstones included. */
  items(): Iterable<MirrorItem>;
  /** Bytes by digest, checked; null when they are not here. */
  content(digest: string): Uint8Array | null;
  /** Whether bytes are here, without reading them. */
  has(digest: string): boolean;
  keep(digest: string, bytes: Uint8Array): void;
  /** Takes over items, and the cursor after them: what a crash cuts off is pulled again. `unknown` are ids to forget. */
  advance(change: {
    items: MirrorItem[];
    cursor: string;
    guidelines?: Guidelines | undefined;
    unknown?: string[];
  }): void;
  /** Deletes bytes that no item needs any more. */
  sweep(): void;
}

/** @throws StateError */
export function openMirror(folder: string, { readOnly = false } = {}): Mirror {
  const blobs = join(folder, 'blobs');
  if (!readOnly) writing(blobs, () => mkdirSync(blobs, { recursive: true, mode: 0o700 }));
  const path = join(folder, 'items.jsonl');
  const rows = openTable({ path, title: 'items', record: Row, readOnly });
  const names = existsSync(blobs) ? readdirSync(blobs) : [];
  const kept = new Set(names.filter((name) => Digest.safeParse(name).success));

  function head(): Head | undefined {
    const row = rows.get('');
    return row && 'head' in row ? row.head : undefined;
  }

  function item(id: string): MirrorItem | undefined {
    const row = rows.get(id);
    return row && 'item' in row ? row.item : undefined;
  }

  function* items(): Iterable<MirrorItem> {
    for (const [, row] of rows.entries()) if ('item' in row) yield row.item;
  }

  return {
    get cursor() {
      return head()?.cursor ?? null;
    },
    get heardAt() {
      return head() ? (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null) : null;
    },
    get guidelines() {
      return head()?.guidelines ?? NO_GUIDELINES;
    },
    item,
    items,
    has: (digest) => kept.has(digest),
    content(digest) {
      try {
        const bytes = readFileSync(join(blobs, Digest.parse(digest)));
        if (hash('sha256', bytes, 'hex') === digest) return bytes;
      } catch {
        // Whatever is wrong with it, it is fetched again.
      }
      kept.delete(digest);
      return null;
    },
    keep(digest, bytes) {
      if (kept.has(digest)) return;
      // Not synced: what a power cut leaves of it does not match its name, and is fetched again.
      writeWhole(join(blobs, Digest.parse(digest)), bytes, { flush: false });
      kept.add(digest);
    },
    advance({ items: changed, cursor, guidelines = head()?.guidelines ?? NO_GUIDELINES, unknown = [] }) {
      rows.write([
        ...unknown.map((id): [string, null] => [id, null]),
        ...changed.map((one): [string, Row] => [one.id, { item: one }]),
        ['', { head: { cursor, guidelines } }],
      ]);
    },
    sweep() {
      const needed = new Set<string>();
      for (const { files } of items()) for (const { digest } of files) needed.add(digest);
      for (const name of readdirSync(blobs)) {
        if (needed.has(name)) continue;
        rmSync(join(blobs, name), { force: true });
        kept.delete(name);
      }
    },
  };
}

/** Forgets what a registry told, before another one is mirrored. Bytes stay: their names say what they are. */
export function forgetMirror(folder: string): void {
  rmSync(join(folder, 'items.jsonl'), { force: true });
}
