import type { ClientFolder } from '../schema/folders.ts';
import type { Mirror, MirrorItem } from './mirror.ts';
import { isHeld, type Spot } from './plan.ts';
import { factKey, placementKey, type Records, type Settings } from './state.ts';
import { type Held, type Want, wantedIn } from './wanted.ts';

/** Items to look at, by id; `all` also looks at every file again. */
export type Scope = 'all' | ReadonlySet<string>;

/** A name of a folder that nobody has looked at yet. */
export type UnseenSpot = Omit<Spot, 'standing'>;

export interface Survey {
  spots: UnseenSpot[];
  /** What should be in a folder and cannot be written there. */
  held: { folder: string; wish: Held }[];
}

export interface SurveyInput {
  folders: readonly ClientFolder[];
  settings: Settings;
  scope: Scope;
  mirror: Mirror;
  ledger: Records['ledger'];
}

/** What each folder should hold of the items in scope, and what the ledger says that the agent put there. */
export function surveyItems({ folders, settings, scope, mirror, ledger }: SurveyInput): Survey {
  const items = scope === 'all' ? [...mirror.items()] : [...scope].flatMap((id) => mirror.item(id) ?? []);
  const agreed = new Set(settings.agreed.map(({ item, client }) => `${item}\0${client}`));
  const skipped = new Set(settings.skipped.map(({ item, folder }) => factKey(folder, item)));
  const source = {
    content: mirror.content,
    has: mirror.has,
    agreed: (item: string, client: string) => agreed.has(`${item}\0${client}`),
  };
  const spots = new Map<string, UnseenSpot>();
  const wantedAt = new Map<string, string>();
  const held: Survey['held'] = [];
  for (const { path: folder, ...rest } of folders) {
    for (const item of items) {
      const wish = wantedIn({ path: folder, ...rest }, item, source);
      if (wish === null) continue;
      if (isHeld(wish)) {
        held.push({ folder, wish });
        continue;
      }
      const key = placementKey(folder, wish.at);
      const placed = ledger.get(key) ?? null;
      const other = spots.get(key)?.want?.item ?? placed?.item;
      if (other !== undefined && other !== item.id && hasName(mirror.item(other), wish)) {
        held.push({ folder, wish: twin(wish) });
        continue;
      }
      const skip = skipped.has(factKey(folder, item.id));
      spots.set(key, { folder, at: wish.at, want: wish, placed, gone: false, skip });
      wantedAt.set(factKey(folder, item.id), wish.at);
    }
  }
  for (const [key, placed] of ledger.entries()) {
    const { folder, at, item } = placed;
    if (spots.has(key) || !(scope === 'all' || scope.has(item))) continue;
    const elsewhere = wantedAt.get(factKey(folder, item));
    const gone = isGone(mirror.item(item)) || (elsewhere !== undefined && elsewhere !== at);
    spots.set(key, { folder, at, want: null, placed, gone, skip: false });
  }
  return { spots: [...spots.values()], held };
}

/** Whether the registry says by a record of its own that an item should be nowhere. */
export function isGone(item: MirrorItem | undefined): boolean {
  return item !== undefined && item.refused === undefined && item.state !== 'active';
}

function hasName(item: MirrorItem | undefined, { kind, name }: Want): boolean {
  return item?.state === 'active' && item.kind === kind && item.name === name;
}

function twin({ item, kind, name }: Want): Held {
  const reason = `The registry names two items ${name}; the other one is written.`;
  return { item, kind, name, held: 'failed', reason };
}
