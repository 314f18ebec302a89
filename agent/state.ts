import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { DeviceEvent, ReportedItem } from '../schema/api.ts';
import { Digest, Kind } from '../schema/item.ts';
import { readJson, writeJson, writing } from './json-file.ts';
import { openTable, type Table } from './table.ts';

/** What pairing gave, and where the registry is. */
export const DeviceRecord = z.object({
  version: z.literal(1),
  url: z.url(),
  device: z.string(),
  name: z.string(),
  account: z.string(),
});
export type DeviceRecord = z.infer<typeof DeviceRecord>;

/** What the person decided for this device. Commands write it, the agent only reads it. */
export const Settings = z.object({
  version: z.literal(1),
  /** Clients named by `repertoire connect`: written even where their configuration folder is missing. */
  connected: z.array(z.string()),
  /** Personas that may be written to a client without the restriction that its format cannot carry. */
  agreed: z.array(z.object({ item: z.string(), client: z.string() })),
  /** Items that a folder shall go without, because the person's own one has the name there. */
  skipped: z.array(z.object({ item: z.string(), folder: z.string() })),
  /** Removals let through the brake, as {@link removalKey} names them. */
  confirmed: z.array(z.string()),
  /** The return to an earlier time that the person wants to follow, as {@link rewindKey} names it. */
  rewound_to: z.string().nullable(),
});
export type Settings = z.infer<typeof Settings>;

const NO_SETTINGS: Settings = {
  version: 1,
  connected: [],
  agreed: [],
  skipped: [],
  confirmed: [],
  rewound_to: null,
};

/** What keeps the agent from its work until a person acts. */
export const Condition = z.object({
  version: z.literal(1),
  /** The registry no longer knows this device. */
  unpaired: z.object({ at: z.number(), message: z.string() }).nullable(),
  /** The registry went back in time; `cursor` is where it is now. */
  rewound: z.object({ at: z.number(), cursor: z.string(), message: z.string() }).nullable(),
  /** Removals that wait for `repertoire confirm`. */
  brake: z
    .object({
      at: z.number(),
      message: z.string(),
      items: z.array(z.object({ key: z.string(), kind: Kind, name: z.string() })),
    })
    .nullable(),
});
export type Condition = z.infer<typeof Condition>;

const NO_CONDITION: Condition = { version: 1, unpaired: null, rewound: null, brake: null };

const OwnFile = z.object({ digest: Digest, executable: z.boolean() });

/** What the agent wrote, or took over, under one name of a client folder. */
export const Placement = z.object({
  folder: z.string(),
  /** The one name below the folder: the item's folder, or a persona's file. */
  at: z.string(),
  item: z.string(),
  kind: Kind,
  name: z.string(),
  revision: z.number().int(),
  how: z.enum(['written', 'adopted']),
  /** By path below the client folder, slashes. */
  files: z.record(z.string(), OwnFile),
  /** What is being written just now: after a crash those bytes are known to be the agent's as well. */
  coming: z.record(z.string(), OwnFile).optional(),
});
export type Placement = z.infer<typeof Placement>;

/** One item in one client folder, as last found on disk. */
export const Fact = ReportedItem.extend({ folder: z.string() });
export type Fact = z.infer<typeof Fact>;

/** Key of a {@link Placement}. */
export function placementKey(folder: string, at: string): string {
  return `${folder}\0${at}`;
}

/** Key of a {@link Fact}. */
export function factKey(folder: string, item: string): string {
  return `${folder}\0${item}`;
}

/** Names one removal of one item, so that a confirmation never serves for a later removal of the same item. */
export function removalKey(item: string, at: number): string {
  return `${item}@${at}`;
}

/** Names one return of the registry to an earlier time, so that the person is asked again at the next. */
export function rewindKey({ cursor, at }: NonNullable<Condition['rewound']>): string {
  return `${cursor}@${at}`;
}

/** Paths in the state folder. */
export interface StateFiles {
  folder: string;
  device: string;
  key: string;
  settings: string;
  condition: string;
  mirror: string;
}

/** The state folder's files, without looking at the disk. */
export function stateFiles(folder: string): StateFiles {
  return {
    folder,
    device: join(folder, 'device.json'),
    key: join(folder, 'device-key.json'),
    settings: join(folder, 'settings.json'),
    condition: join(folder, 'condition.json'),
    mirror: join(folder, 'mirror'),
  };
}

/** Makes the state folder where it is missing, for this user alone. @throws Unwritten */
export function makeStateFolder({ folder }: StateFiles): void {
  writing(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
}

/** Null when this device is not paired. @throws StateError */
export function readDevice(files: StateFiles): DeviceRecord | null {
  return readJson(files.device, DeviceRecord);
}

export function writeDevice(files: StateFiles, record: Omit<DeviceRecord, 'version'>): void {
  writeJson(files.device, { version: 1, ...record } satisfies DeviceRecord);
}

/** Forgets pairing and key. Ledger and files stay, so that pairing again adopts what is there. */
export function forgetDevice(files: StateFiles): void {
  for (const path of [files.device, files.key, files.condition]) rmSync(path, { force: true });
}

/** @throws StateError */
export function readSettings(files: StateFiles): Settings {
  return readJson(files.settings, Settings) ?? NO_SETTINGS;
}

/** Changes the settings as they are on disk now, and gives the new ones. */
export function changeSettings(
  files: StateFiles,
  change: (settings: Settings) => Partial<Settings>,
): Settings {
  makeStateFolder(files);
  const settings = readSettings(files);
  const next: Settings = { ...settings, ...change(settings) };
  writeJson(files.settings, next);
  return next;
}

/** @throws StateError */
export function readCondition(files: StateFiles): Condition {
  return readJson(files.condition, Condition) ?? NO_CONDITION;
}

export function changeCondition(files: StateFiles, change: Partial<Condition>): void {
  const condition = readCondition(files);
  const next = { ...condition, ...change };
  if (JSON.stringify(next) !== JSON.stringify(condition)) writeJson(files.condition, next);
}

/** What the agent knows about the device's folders. */
export interface Records {
  ledger: Table<Placement>;
  facts: Table<Fact>;
  /** What happened, until the registry has heard of it. */
  events: Table<DeviceEvent>;
}

/** @throws StateError */
export function openRecords({ folder }: StateFiles, { readOnly = false } = {}): Records {
  const open = <T>(title: string, record: z.ZodType<T>) =>
    openTable({ path: join(folder, `${title}.jsonl`), title, record, readOnly });
  return {
    ledger: open('ledger', Placement),
    facts: open('facts', Fact),
    events: open('events', DeviceEvent),
  };
}
