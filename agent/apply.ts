import { hash } from 'node:crypto';
import { digestInput } from '../schema/digest.ts';
import { MAIN_FILE } from '../schema/item.ts';
import type { Failure } from './disk/attempt.ts';
import type { Root } from './disk/containment.ts';
import { placeFolder, removeFolder } from './disk/place-folder.ts';
import { type Kept, removeFile, writeFile } from './disk/write-file.ts';
import type { Action, Standing } from './plan.ts';
import type { Placement } from './state.ts';
import type { Want, WantedFile } from './wanted.ts';

/** How an action ended. */
export interface Outcome {
  /** State of the item under this name; null when nothing of it is left. */
  state: 'written' | 'adopted' | 'held_back' | 'changed_here' | 'failed' | null;
  /** Whether the agent changed the disk. */
  touched: boolean;
  /** One sentence for the person. */
  message?: string | undefined;
  /** What the ledger should say from now on; null for nothing. */
  placement: Placement | null;
}

export interface Apply {
  root: Root;
  /** Bytes by digest; null when they are not here. */
  content(digest: string): Uint8Array | null;
  /** Called with what the ledger should say before bytes reach the disk, so that a crash leaves nothing unknown. */
  announce(placement: Placement): void;
}

/** Carries out one action in its folder. Never throws for what the disk does. */
export async function apply(action: Action, context: Apply): Promise<Outcome> {
  const { decision, spot } = action;
  const { placed } = spot;
  switch (decision.do) {
    case 'nothing':
      return { state: placed?.how ?? 'written', touched: false, placement: placed };
    case 'hold':
      return { state: decision.state, touched: false, message: decision.reason, placement: placed };
    case 'forget':
      return { state: null, touched: false, placement: null };
    case 'adopt':
      return { state: 'adopted', touched: false, placement: adopted(action, decision.want, spot.standing) };
    case 'place':
      return place(action, decision.want, context);
    case 'update':
      return update(action, decision, context);
    case 'remove':
      return remove(decision, context);
  }
}

function adopted({ folder }: Action, want: Want, standing: Standing): Placement {
  const files = want.files.map(({ path, digest }) => {
    const found = standing.is === 'there' ? standing.files.get(path) : undefined;
    return [path, { digest, executable: found?.executable ?? false }] as const;
  });
  return { ...placementOf(folder, want), how: 'adopted', files: Object.fromEntries(files) };
}

async function place(action: Action, want: Want, { root, content, announce }: Apply): Promise<Outcome> {
  const { placed } = action.spot;
  const files = withBytes(want.files, content);
  if (!files) return lacking(want, placed);
  announce(coming(action, want));
  const [first] = files;
  const outcome =
    want.kind === 'persona' && first
      ? await writeFile(root, { ...first, base: null })
      : await placeFolder(root, {
          name: want.at,
          files: files.map((file) => ({ ...file, path: file.path.slice(want.at.length + 1) })),
        });
  if (outcome.done === 'written') {
    return { state: 'written', touched: true, placement: placementOf(action.folder, want) };
  }
  return { ...refusal(outcome, want.at, 'held_back'), touched: false, placement: placed };
}

async function update(
  action: Action,
  { want, writes, removals }: Extract<Action['decision'], { do: 'update' }>,
  { root, content, announce }: Apply,
): Promise<Outcome> {
  const { placed } = action.spot;
  const whole = placementOf(action.folder, want);
  if (writes.length + removals.length === 0) return { state: 'written', touched: false, placement: whole };
  const bases = new Map(writes.map(({ path, base }) => [path, base]));
  const files = withBytes(
    want.files.filter(({ path }) => bases.has(path)),
    content,
  );
  if (!files) return lacking(want, placed);
  announce(coming(action, want));

  const written: WantedFile[] = [];
  const removed: string[] = [];
  const copies: string[] = [];
  let refused: Pick<Outcome, 'state' | 'message'> | null = null;
  for (const file of mainLast(files)) {
    const base = bases.get(file.path) ?? null;
    const outcome = await writeFile(root, { ...file, base });
    if (outcome.done === 'written') written.push(file);
    else refused ??= refusal(outcome, file.path, base === null ? 'held_back' : 'changed_here');
    if ('copy' in outcome && outcome.copy !== undefined) copies.push(outcome.copy);
    if (refused) break;
  }
  if (!refused && removals.length > 0) {
    const outcome = await removeFrom(root, want.at, removals);
    removed.push(...outcome.removed);
    refused = outcome.refused;
  }
  const touched = written.length + removed.length > 0;
  const kept = copies.length > 0 ? `Your edit was kept as ${copies.join(', ')}.` : undefined;
  if (!refused) return { state: 'written', touched, message: kept, placement: whole };
  return { ...refused, touched, placement: partly(action, want, written, removed) };
}

async function remove(
  { placed, removals }: Extract<Action['decision'], { do: 'remove' }>,
  { root }: Apply,
): Promise<Outcome> {
  const { removed, refused } = await removeFrom(root, placed.at, removals);
  if (!refused) return { state: null, touched: true, placement: null };
  const gone = new Set(removed);
  const files = Object.fromEntries(Object.entries(placed.files).filter(([path]) => !gone.has(path)));
  return { ...refused, touched: removed.length > 0, placement: { ...placed, files } };
}

/** A persona's file lies in the root itself; an item's files lie in its folder, which goes when it is empty. */
async function removeFrom(
  root: Root,
  at: string,
  removals: readonly { path: string; digest: string }[],
): Promise<{ removed: string[]; refused: Pick<Outcome, 'state' | 'message'> | null }> {
  const inRoot = removals.filter(({ path }) => path === at);
  const inFolder = removals.filter(({ path }) => path !== at);
  const removed: string[] = [];
  let refused: Pick<Outcome, 'state' | 'message'> | null = null;
  for (const { path, digest } of inRoot) {
    const outcome = await removeFile(root, path, digest);
    if (outcome.done === 'removed') removed.push(path);
    else refused ??= refusal(outcome, path, 'changed_here');
  }
  if (inFolder.length > 0) {
    const below = inFolder.map(({ path, digest }) => ({ path: path.slice(at.length + 1), digest }));
    const outcome = await removeFolder(root, at, below);
    removed.push(...outcome.removed.map((path) => `${at}/${path}`));
    for (const { path, ...kept } of outcome.kept) refused ??= refusal(kept, `${at}/${path}`, 'changed_here');
  }
  return { removed, refused };
}

function refusal(
  outcome: Kept | Failure,
  path: string,
  state: 'held_back' | 'changed_here',
): Pick<Outcome, 'state' | 'message'> {
  if (outcome.done === 'failed') return { state: 'failed', message: outcome.message };
  const kept =
    outcome.incoming === undefined ? '' : ` The registry's version lies beside it as ${outcome.incoming}.`;
  return { state, message: `${REASONS[outcome.reason](path)}${kept}` };
}

const REASONS: Record<Kept['reason'], (path: string) => string> = {
  changed_here: (path) => `${path} was edited here, so the agent leaves it alone.`,
  gone: (path) => `${path} was deleted here just now; the next pass writes it again.`,
  exists: (path) => `${path} exists here and is yours, so the agent leaves it alone.`,
  not_a_file: (path) => `${path} is no plain file here, so the agent leaves it alone.`,
  link: (path) => `${path} leads through a link here, and the agent writes through none.`,
};

function lacking(want: Want, placed: Placement | null): Outcome {
  const message = `The bytes of ${want.name} are not here yet; the next pass fetches them again.`;
  return { state: 'failed', touched: false, message, placement: placed };
}

/** Null when bytes are missing. */
function withBytes(
  files: readonly WantedFile[],
  content: Apply['content'],
): (WantedFile & { bytes: Uint8Array })[] | null {
  const full: (WantedFile & { bytes: Uint8Array })[] = [];
  for (const file of files) {
    const bytes = file.bytes ?? content(file.digest);
    if (bytes === null) return null;
    full.push({ ...file, bytes });
  }
  return full;
}

/** So that a client that looks meanwhile never reads new instructions that name files which are not there yet. */
function mainLast<T extends { path: string }>(files: readonly T[]): T[] {
  const isMain = ({ path }: T) => path.endsWith(`/${MAIN_FILE.skill}`);
  return files.toSorted((a, b) => Number(isMain(a)) - Number(isMain(b)));
}

function placementOf(folder: string, want: Want): Placement {
  const { at, item, kind, name, revision } = want;
  return { folder, at, item, kind, name, revision, how: 'written', files: filesOf(want.files) };
}

function filesOf(files: readonly WantedFile[]): Placement['files'] {
  return Object.fromEntries(files.map(({ path, digest, executable }) => [path, { digest, executable }]));
}

function coming({ folder, spot: { placed } }: Action, want: Want): Placement {
  const before = placed ?? { ...placementOf(folder, want), files: {} };
  return { ...before, coming: { ...before.coming, ...filesOf(want.files) } };
}

/** What is known after an item was changed in part: what was written, and all else as it was, with what may yet come. */
function partly(action: Action, want: Want, written: WantedFile[], removed: string[]): Placement {
  const before = coming(action, want);
  const files = { ...before.files, ...filesOf(written) };
  for (const path of removed) delete files[path];
  return { ...before, files };
}

/** Item digest of what stands on disk at the given paths, or at all; null when nothing does. */
export function diskDigest(
  standing: Standing,
  at: string,
  modes: boolean,
  paths?: ReadonlySet<string>,
): string | null {
  if (standing.is !== 'there') return null;
  const entries = [...standing.files]
    .filter(([path]) => !paths || paths.has(path))
    .map(([path, file]) => ({ ...file, path: path === at ? path : path.slice(at.length + 1) }));
  return entries.length === 0 ? null : hash('sha256', digestInput(entries, modes), 'hex');
}
