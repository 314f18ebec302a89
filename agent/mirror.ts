import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Cursor, Guidelines } from '../schema/api.ts';
import { Digest, Item } from '../schema/item.ts';
import { readJson, writeJson, writeWhole } from './json-file.ts';
import { openTable } from './table.ts';

/** An item as the registry last told it. */
export const MirrorItem = Item.extend({
  /** One sentence: why the agent does not take the registry's word for this item. Its files are left as they are. */
  refused: z.string().optional(),
});
export type MirrorItem = z.infer<typeof MirrorItem>;

const Head = z.object({ version: z.literal(1), cursor: Cursor.nullable(), guidelines: Guidelines });

/** The registry's last known state on this device: what is planned from, and what is answered from while offline. */
export interface Mirror {
  readonly cursor: string | null;
  readonly guidelines: Guidelines;
  item(id: string): MirrorItem | undefined;
  /** Tombstones included. */
  items(): Iterable<MirrorItem>;
  /** Bytes by digest, checked; null when they are not here. */
  content(digest: string): Uint8Array | null;
  /** Whether bytes are here, without reading them. */
  has(digest: string): boolean;
  keep(digest: string, bytes: Uint8Array): void;
  /** Takes over items and then the cursor, so that a crash in between costs one more pull at most. */
  advance(change: { items: MirrorItem[]; cursor: string; guidelines?: Guidelines | undefined }): void;
  /** Deletes bytes that no item needs any more. */
  sweep(): void;
}

/** @throws StateError */
export function openMirror(folder: string, { readOnly = false } = {}): Mirror {
  const blobs = join(folder, 'blobs');
  const headFile = join(folder, 'head.json');
  if (!readOnly) mkdirSync(blobs, { recursive: true, mode: 0o700 });
  const items = openTable({
    path: join(folder, 'items.jsonl'),
    title: 'items',
    record: MirrorItem,
    readOnly,
  });
  let head: z.infer<typeof Head> = readJson(headFile, Head) ?? {
    version: 1,
    cursor: null,
    guidelines: { text: '', updated_at: null },
  };
  const kept = new Set(readOnly ? [] : readdirSync(blobs).filter((name) => Digest.safeParse(name).success));

  return {
    get cursor() {
      return head.cursor;
    },
    get guidelines() {
      return head.guidelines;
    },
    item: items.get,
    *items() {
      for (const [, item] of items.entries()) yield item;
    },
    has: (digest) => kept.has(digest),
    content(digest) {
      try {
        const bytes = readFileSync(join(blobs, Digest.parse(digest)));
        if (hash('sha256', bytes, 'hex') === digest) return bytes;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
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
    advance(change) {
      items.write(change.items.map((item) => [item.id, item]));
      const guidelines = change.guidelines ?? head.guidelines;
      head = { version: 1, cursor: change.cursor, guidelines };
      writeJson(headFile, head);
    },
    sweep() {
      const needed = new Set<string>();
      for (const [, item] of items.entries()) for (const { digest } of item.files) needed.add(digest);
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
  for (const name of ['head.json', 'items.jsonl']) rmSync(join(folder, name), { force: true });
}
