import { join } from 'node:path';
import { CLIENTS } from '../../schema/clients.ts';
import type { ClientFolder } from '../../schema/folders.ts';
import type { ItemSummary, Kind } from '../../schema/item.ts';
import { look } from '../disk/file.ts';
import type { Mirror } from '../mirror.ts';
import { folderProblem } from '../pass.ts';
import type { Fact, Placement, Records } from '../state.ts';
import { wantedIn } from '../wanted.ts';

/** An item that is not on disk as wished, with what to do about it. */
export interface Exception {
  kind: Kind;
  name: string;
  folder: string;
  state: 'held_back' | 'awaits_agreement' | 'changed_here' | 'failed' | 'missing' | 'outdated' | 'left_over';
  /** One sentence or two. */
  message: string;
}

/** One client folder: wish and fact apart. */
export interface FolderHere {
  path: string;
  kind: Kind;
  /** Titles of the clients that read it. */
  clients: string[];
  /** Those that see a change only after a restart. */
  restart: string[];
  /** Items that should be there. */
  wanted: number;
  /** Items that are there, every byte as the registry has it. Looked up on the disk just now. */
  on_disk: number;
  /** Why nothing can be written there. */
  problem: string | null;
  exceptions: Exception[];
}

export interface HereInput {
  folders: readonly ClientFolder[];
  /** The registry's items, or those last known. */
  items: readonly ItemSummary[];
  records: Records;
  /** Whether the registry has ever told of an item, or still does. */
  isKnown(id: string): boolean;
}

/** Compares the folders on this computer with what the registry wants, reading every file that the agent placed. */
export function readHere({ folders, items, records, isKnown }: HereInput): FolderHere[] {
  const placements = Map.groupBy(
    Array.from(records.ledger.entries(), ([, placed]) => placed),
    ({ folder }) => folder,
  );
  const facts = Map.groupBy(
    Array.from(records.facts.entries(), ([, fact]) => fact),
    ({ folder }) => folder,
  );
  return folders.map((folder) => {
    const placed = new Map((placements.get(folder.path) ?? []).map((each) => [each.item, each]));
    const known = new Map((facts.get(folder.path) ?? []).map((each) => [each.item, each]));
    const wanted = items.filter(({ kind, state }) => kind === folder.kind && state === 'active');
    const problem = folderProblem(folder.path);
    const exceptions: Exception[] = [];
    let there = 0;
    for (const item of problem === null ? wanted : []) {
      const exception = judge(item, placed.get(item.id), known.get(item.id), folder.path);
      if (exception) exceptions.push(exception);
      else there++;
      placed.delete(item.id);
    }
    for (const left of problem === null ? placed.values() : [])
      exceptions.push(leftOver(left, known.get(left.item), isKnown(left.item)));
    return {
      path: folder.path,
      kind: folder.kind,
      clients: folder.clients.map(titleOf),
      restart: folder.restart.map(titleOf),
      wanted: wanted.length,
      on_disk: there,
      problem,
      exceptions,
    };
  });
}

function judge(
  { kind, name, revision }: ItemSummary,
  placed: Placement | undefined,
  fact: Fact | undefined,
  folder: string,
): Exception | null {
  const made = (state: Exception['state'], message: string) => ({ kind, name, folder, state, message });
  if (fact && fact.state !== 'written' && fact.state !== 'adopted') {
    const state = fact.state === 'held_back' && needsAgreement(fact) ? 'awaits_agreement' : fact.state;
    return made(state, `${fact.message ?? 'No reason is known.'}${advice(fact)}`);
  }
  if (!placed) return made('missing', 'Not yet written: the next pass of "repertoire run" does that.');
  if (!isIntact(placed)) {
    return made('changed_here', `Its files were changed or deleted since the last pass; the next one looks.`);
  }
  if (placed.revision !== revision) {
    return made(
      'outdated',
      `Revision ${placed.revision} is there, ${revision} is wanted; the next pass writes it.`,
    );
  }
  return null;
}

function leftOver({ kind, name, folder }: Placement, fact: Fact | undefined, isKnown: boolean): Exception {
  const message = isKnown
    ? (fact?.message ?? 'It is no longer wanted; the next pass removes it.')
    : 'The registry does not know it, so it stays; delete it, or "repertoire add" it.';
  return { kind, name, folder, state: 'left_over', message };
}

function advice(fact: Fact): string {
  const { state, name, message = '' } = fact;
  if (message.includes('repertoire ')) return '';
  if (state === 'changed_here') return ` "repertoire resolve ${name}" lets you choose.`;
  return needsAgreement(fact) ? ` "repertoire confirm --agree-persona ${name}" agrees.` : '';
}

/** Whether a persona is held back for a restriction that the client's format cannot carry. */
export function needsAgreement({ kind, message = '' }: Pick<Fact, 'kind' | 'message'>): boolean {
  return kind === 'persona' && message.includes('agree to write it there without');
}

function isIntact({ folder, files }: Placement): boolean {
  return Object.entries(files).every(([path, { digest }]) => {
    try {
      const found = look(join(folder, path));
      return found.is === 'file' && found.digest === digest;
    } catch {
      return false;
    }
  });
}

function titleOf(id: string): string {
  return CLIENTS.find((client) => client.id === id)?.title ?? id;
}

/** Personas that wait, in these folders, for the person's word that a restriction may be lost. */
export function awaitingAgreement(
  folders: readonly ClientFolder[],
  mirror: Mirror,
): { item: string; name: string; client: string; reason: string }[] {
  const source = { content: mirror.content, has: () => true, agreed: () => false };
  return folders.flatMap((folder) =>
    [...mirror.items()].flatMap((item) => {
      const wish = wantedIn(folder, item, source);
      return wish && 'held' in wish && wish.held === 'held_back'
        ? [{ item: item.id, name: item.name, client: folder.format, reason: wish.reason }]
        : [];
    }),
  );
}
