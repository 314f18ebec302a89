import { RegistryError } from '../../schema/errors.ts';
import type { Machine } from '../../schema/folders.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { type Kind, MAIN_FILE } from '../../schema/item.ts';
import { compareItems, fitItems } from '../../schema/listing.ts';
import type { RenderedItem } from '../../schema/tools.ts';
import { type MirrorItem, openMirror } from '../mirror.ts';
import { presentFolders } from '../pass.ts';
import { openRecords, readSettings, type StateFiles } from '../state.ts';
import type { Caller } from './caller.ts';

/** What this device last heard from the registry. */
export interface LastKnown {
  /** When that was; null when it never heard anything. Milliseconds since the epoch. */
  at: number | null;
  guidelines: string;
  /** Every item that is not removed, skills first, by name. */
  items: MirrorItem[];
  /** Active items that the caller does not read from this device's folders anyway. */
  fitted(caller: Caller): MirrorItem[];
  /** @throws RegistryError */
  find(name: string, kind?: Kind): MirrorItem;
  /** One file, by default the main one. @throws RegistryError when it is not here */
  file(item: MirrorItem, path?: string): { path: string } & ({ text: string } | { base64: string });
  /** Items with all words in name, description or a text file. */
  search(query: string, kind?: Kind): (RenderedItem & { path: string; passage: string })[];
}

const HITS = 50;
/** Of a text file that is searched; as the registry does. */
const SEARCHED_BYTES = 256 * 1024;
const PASSAGE_CHARS = 160;

/** Reads what the agent keeps on this device. @throws StateError when that is damaged */
export function readLastKnown(files: StateFiles, machine: Machine): LastKnown {
  const mirror = openMirror(files.mirror, { readOnly: true });
  const items = [...mirror.items()].filter(({ state }) => state !== 'removed').sort(compareItems);

  function textOf(digest: string): string | null {
    const bytes = mirror.content(digest);
    return bytes && decodeText(bytes.subarray(0, SEARCHED_BYTES));
  }

  return {
    at: mirror.heardAt,
    guidelines: mirror.guidelines.text,
    items,

    fitted({ client, wsl }) {
      const facts = [...openRecords(files, { readOnly: true }).facts.entries()].map(([, fact]) => fact);
      const right = facts.filter(({ state }) => state === 'written' || state === 'adopted');
      const wrong = new Set(facts.filter((fact) => !right.includes(fact)).map(({ item }) => item));
      const folders = presentFolders(machine, readSettings(files)).map(({ path, kind, clients }) => {
        const written = right.some(({ folder }) => folder === path);
        return { path, kind, clients, state: written ? ('written' as const) : ('failed' as const) };
      });
      const active = items.filter(({ state }) => state === 'active');
      const seen = new Set(right.map(({ item }) => item));
      const exceptions = new Set(active.map(({ id }) => id).filter((id) => wrong.has(id) || !seen.has(id)));
      return fitItems({ client, hasDevice: true, wsl, folders, exceptions, items: active });
    },

    find(name, kind) {
      const found = items.filter((item) => item.name === name && (kind ?? item.kind) === item.kind);
      const [item] = found;
      if (found.length > 1) {
        throw new RegistryError(
          'ambiguous_name',
          `${name} is both a skill and a persona; say which with kind.`,
        );
      }
      if (item) return item;
      throw new RegistryError(
        'not_found',
        `This device knows no ${kind ?? 'skill or persona'} named ${name}; list the items to see what it knows.`,
      );
    },

    file(item, path = MAIN_FILE[item.kind]) {
      const entry = item.files.find((file) => file.path === path);
      const bytes = entry ? mirror.content(entry.digest) : null;
      if (!bytes) {
        throw new RegistryError(
          'not_found',
          `This device has no file ${path} of the ${item.kind} ${item.name}; it may be there once the registry can be reached again.`,
        );
      }
      const text = decodeText(bytes);
      return text === null ? { path, base64: Buffer.from(bytes).toString('base64') } : { path, text };
    },

    search(query, kind) {
      const words = query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
      if (words.length === 0) {
        throw new RegistryError('invalid_input', 'The search has no word in it; give at least one.');
      }
      const hits = items.flatMap((item) => {
        if (item.kind !== (kind ?? item.kind)) return [];
        const main = MAIN_FILE[item.kind];
        const texts = [
          { path: main, text: item.name },
          { path: main, text: item.description },
          ...item.files.map(({ path, digest }) => ({ path, text: textOf(digest) ?? '' })),
        ];
        const whole = texts.map(({ text }) => text.toLowerCase());
        if (!words.every((word) => whole.some((text) => text.includes(word)))) return [];
        const rank = whole.findIndex((text) => words.some((word) => text.includes(word)));
        const { path = main, text = '' } = texts[rank] ?? {};
        return [{ ...item, path, passage: passage(text, words), rank }];
      });
      return hits.sort((a, b) => a.rank - b.rank).slice(0, HITS);
    },
  };
}

/** The text around the first word found. */
function passage(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...found) - PASSAGE_CHARS / 4);
  const cut = text
    .slice(start, start + PASSAGE_CHARS)
    .replace(/\s+/g, ' ')
    .trim();
  return `${start > 0 ? '…' : ''}${cut}${start + PASSAGE_CHARS < text.length ? '…' : ''}`;
}
