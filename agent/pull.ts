import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangedItem, ChangesPage } from '../schema/api.ts';
import { digestInput } from '../schema/digest.ts';
import { RegistryError } from '../schema/errors.ts';
import { ItemName, LIMITS, MAIN_FILE } from '../schema/item.ts';
import { checkPath, checkPaths } from '../schema/path.ts';
import type { Mirror, MirrorItem } from './mirror.ts';
import type { Registry } from './registry.ts';

export interface Pull {
  mirror: Mirror;
  registry: Pick<Registry, 'changes' | 'blob'>;
  /** Cursor of the ring that asked for this pull: an answer from before it is asked again. */
  rung?: string | null;
  /**
   * Begin with a snapshot, whatever the mirror has. Items that it does not name are forgotten, so that the registry may give
   * their names to others; their files stay.
   */
  afresh?: boolean;
  /** Gets the ids of the items that changed as soon as the mirror has them, also where the pull fails after that. */
  changed?: Set<string>;
  signal?: AbortSignal;
  /** Milliseconds between the tries for an answer that lags. */
  delays?: readonly number[];
}

/** A replica that lags catches up in well under a second. */
const LAG_DELAYS = [50, 200, 800];
const PARALLEL_BLOBS = 4;

/**
 * Brings the mirror up to the registry and gives the ids of the items that changed. What a page does not name is unchanged,
 * never gone; a snapshot is no exception. Names, paths and digests are checked here again: an item that fails is kept as
 * refused, and the others go on. Bytes that could not be fetched are asked for by the next {@link fetchMissing}.
 * @throws RegistryError `registry_rewound` when the registry, asked repeatedly, does not know the mirror's cursor
 */
export async function pullChanges(pull: Pull): Promise<Set<string>> {
  const { mirror, changed = new Set() } = pull;
  const unnamed = new Set(pull.afresh ? Array.from(mirror.items(), ({ id }) => id) : []);
  const since = pull.afresh ? null : mirror.cursor;
  let coming: Promise<ChangesPage> | null = askChanges(pull, since);
  for (let last = since; coming; ) {
    const page: ChangesPage = await coming;
    if (page.more && page.cursor === last) {
      throw new RegistryError(
        'unavailable',
        'The registry announces more changes but gives none; try again later.',
      );
    }
    last = page.cursor;
    // The next page is on its way while this one is taken in.
    coming = page.more ? askChanges(pull, last) : null;
    coming?.catch(() => {});
    const items = page.items.map((item) => takeItem(mirror, item));
    for (const { id } of items) unnamed.delete(id);
    const unknown = page.more ? [] : [...unnamed];
    mirror.advance({ items, cursor: page.cursor, guidelines: page.guidelines, unknown });
    for (const { id } of items) changed.add(id);
  }
  await fetchMissing(
    pull,
    Array.from(changed, (id) => mirror.item(id)).filter((item) => item !== undefined),
  );
  return changed;
}

/** One page; asked again while it is older than the ring, or a lagging replica may not know the cursor yet. */
async function askChanges(
  { registry, rung = null, signal, delays = LAG_DELAYS }: Pull,
  since: string | null,
): Promise<ChangesPage> {
  for (let tries = 0; ; tries++) {
    const delay = delays[tries];
    try {
      const page = await registry.changes(since, signal);
      if (page.more || delay === undefined || !isBefore(page.cursor, rung)) return page;
    } catch (error) {
      const rewound = error instanceof RegistryError && error.code === 'registry_rewound';
      if (!rewound || delay === undefined) throw error;
    }
    await sleep(delay, undefined, signal ? { signal } : {});
  }
}

/** Whether a cursor is older than another of the same epoch. */
export function isBefore(cursor: string | null, other: string | null): boolean {
  const [epoch, seq] = cursor?.split(':') ?? [];
  const [otherEpoch, otherSeq] = other?.split(':') ?? [];
  return epoch !== undefined && epoch === otherEpoch && Number(seq) < Number(otherSeq);
}

/** Keeps an item's inline bytes, and judges the item. */
function takeItem(mirror: Mirror, { files, ...summary }: ChangedItem): MirrorItem {
  const entries = files.map(({ text: _, base64: __, ...entry }) => entry);
  const item: MirrorItem = { ...summary, files: entries };
  const refused = judge(item);
  if (refused !== null) return { ...item, files: [], refused };
  for (const file of files) {
    const bytes = inlineBytes(file);
    if (bytes === null) continue;
    if (hash('sha256', bytes, 'hex') !== file.digest) {
      return {
        ...item,
        files: [],
        refused: `The registry sent ${file.path} of ${item.name} with other bytes than its digest says.`,
      };
    }
    mirror.keep(file.digest, bytes);
  }
  return item;
}

function inlineBytes(file: ChangedItem['files'][number]): Buffer | null {
  if (file.text !== undefined) return Buffer.from(file.text);
  return file.base64 === undefined ? null : Buffer.from(file.base64, 'base64');
}

/** One sentence why an item cannot be taken, or null. */
function judge(item: MirrorItem): string | null {
  if (!ItemName.safeParse(item.name).success) {
    return `The registry sent a ${item.kind} whose name is none: ${JSON.stringify(item.name)}.`;
  }
  if (item.state === 'removed') return null;
  try {
    const paths = item.files.map(({ path }) => path);
    for (const path of paths) checkPath(path);
    checkPaths(paths);
    checkPath(item.name);
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return `The registry sent ${item.name} with a path that is not safe: ${error.message}`;
  }
  const bytes = item.files.reduce((sum, { size }) => sum + size, 0);
  if (item.files.length > LIMITS.itemFiles || bytes > LIMITS.itemBytes) {
    return `The registry sent ${item.name} with more files or bytes than an item may have.`;
  }
  if (!item.files.some(({ path }) => path === MAIN_FILE[item.kind])) {
    return `The registry sent ${item.name} without ${MAIN_FILE[item.kind]}.`;
  }
  if (hash('sha256', digestInput(item.files), 'hex') !== item.digest) {
    return `The registry sent ${item.name} with files that do not match its digest.`;
  }
  return null;
}

/**
 * Fetches what items need and the mirror lacks, some at a time. One that fails leaves its item incomplete until the next
 * call; gives one sentence for each failure.
 */
export async function fetchMissing(
  { mirror, registry, signal }: Pick<Pull, 'mirror' | 'registry' | 'signal'>,
  items: Iterable<MirrorItem>,
): Promise<string[]> {
  const missing = new Set<string>();
  for (const item of items) {
    for (const { digest } of item.files) if (!mirror.has(digest)) missing.add(digest);
  }
  const failures: string[] = [];
  const queue = missing.values();
  await Promise.all(
    Array.from({ length: Math.min(PARALLEL_BLOBS, missing.size) }, async () => {
      for (const digest of queue) {
        try {
          const bytes = await registry.blob(digest, signal);
          if (hash('sha256', bytes, 'hex') === digest) mirror.keep(digest, bytes);
          else failures.push(`The registry sent other bytes for ${digest}.`);
        } catch (error) {
          signal?.throwIfAborted();
          if (!(error instanceof RegistryError)) throw error;
          failures.push(error.message);
        }
      }
    }),
  );
  return failures;
}
