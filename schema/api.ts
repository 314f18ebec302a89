import { z } from 'zod';
import { Author, Digest, FileChanges, FileEntry, Item, ItemSummary, Kind, Revision } from './item.ts';

/** Shapes of the web API under `/api/v1`: `XBody` is what a caller sends, the others are what it gets. Times are milliseconds. */

export const Scope = z.enum(['skills:read', 'skills:write', 'items:confirm', 'devices:write']);
export type Scope = z.infer<typeof Scope>;

/** `epoch:seq`. The epoch names one life of a registry, seq its strictly rising change number. */
export const Cursor = z.string().regex(/^[0-9a-z]+:\d+$/);

/** The owner of a match says that it is no secret: rule and SHA-256 of the match, as a refusal named them. */
export const Confirmation = z.object({ rule: z.string(), match: z.string() });
export type Confirmation = z.infer<typeof Confirmation>;

const written = { confirm: z.array(Confirmation).optional() };

/** `POST /api/v1/items` */
export const CreateBody = z.strictObject({
  kind: Kind,
  /** Optional with files; then it must be what the front matter says, where that is a valid name. */
  name: z.string().optional(),
  /** Name of the folder or file that the item was read from: its name where the front matter has no valid one. */
  fallback_name: z.string().optional(),
  description: z.string().optional(),
  instructions: z.string().optional(),
  files: FileChanges.optional(),
  ...written,
});
export type CreateBody = z.infer<typeof CreateBody>;

/** `PATCH /api/v1/items/{kind}/{name}`: at least one change. `expected_revision` is obligatory over the API. */
export const EditBody = z.strictObject({
  expected_revision: z.number().int().positive(),
  description: z.string().optional(),
  instructions: z.string().optional(),
  files: FileChanges.optional(),
  state: z.enum(['active', 'disabled']).optional(),
  ...written,
});
export type EditBody = z.infer<typeof EditBody>;

/** `POST /api/v1/items/{kind}/{name}/restore`: without `revision` a removed item's last one. */
export const RestoreBody = z.strictObject({
  expected_revision: z.number().int().positive(),
  revision: z.number().int().positive().optional(),
});
export type RestoreBody = z.infer<typeof RestoreBody>;

/** `POST /api/v1/items/{kind}/{name}/rename` */
export const RenameBody = z.strictObject({ expected_revision: z.number().int().positive(), to: z.string() });
export type RenameBody = z.infer<typeof RenameBody>;

/** `PUT /api/v1/guidelines` */
export const GuidelinesBody = z.strictObject({ text: z.string(), ...written });
export type GuidelinesBody = z.infer<typeof GuidelinesBody>;
/** `GET /api/v1/guidelines` */
export const Guidelines = z.object({ text: z.string(), updated_at: z.number().int().nullable() });
export type Guidelines = z.infer<typeof Guidelines>;

/** `GET /api/v1/items?kind=&q=`: every item; removed ones too with `removed=1`. With `q`, full-text hits, best first. */
export const ItemList = z.object({ items: z.array(ItemSummary) });
export type ItemList = z.infer<typeof ItemList>;
export const SearchHit = ItemSummary.extend({
  /** Path of the file that matched best and a passage from it. */
  path: z.string(),
  passage: z.string(),
});
export type SearchHit = z.infer<typeof SearchHit>;
export const SearchAnswer = z.object({ hits: z.array(SearchHit) });
export type SearchAnswer = z.infer<typeof SearchAnswer>;

/** Answer of every write to an item: the item as it now is, and the cursor after the write. */
export const WriteAnswer = z.object({ item: Item, cursor: Cursor });
export type WriteAnswer = z.infer<typeof WriteAnswer>;

/** `GET /api/v1/changes?since=cursor`: items in the order of their last change, each once, tombstones included. */
export const ChangedItem = ItemSummary.extend({
  files: z.array(FileEntry.extend({ text: z.string().optional(), base64: z.string().optional() })),
});
export type ChangedItem = z.infer<typeof ChangedItem>;
export const ChangesPage = z.object({
  /** Where the next pull starts. */
  cursor: Cursor,
  /** True on the first page for a caller without a cursor: the pages up to the end are all there is. */
  start_over: z.boolean(),
  more: z.boolean(),
  items: z.array(ChangedItem),
  guidelines: Guidelines.optional(),
});
export type ChangesPage = z.infer<typeof ChangesPage>;

export const Change = z.object({
  seq: z.number().int(),
  at: z.number().int(),
  type: z.enum(['created', 'edited', 'renamed', 'enabled', 'disabled', 'removed', 'restored', 'guidelines']),
  kind: Kind.nullable(),
  name: z.string().nullable(),
  revision: z.number().int().nullable(),
  author: Author,
});
export type Change = z.infer<typeof Change>;

/** What one device has of an item. */
export const OnDevice = z.object({
  device: z.string(),
  device_name: z.string(),
  revision: z.number().int().nullable(),
  state: z.enum(['written', 'adopted', 'held_back', 'changed_here', 'failed']),
  path: z.string(),
  at: z.number().int(),
});
export type OnDevice = z.infer<typeof OnDevice>;

/** `GET /api/v1/items/{kind}/{name}/history`, newest first. */
export const ItemHistory = z.object({
  item: ItemSummary,
  revisions: z.array(Revision),
  changes: z.array(Change),
  devices: z.array(OnDevice),
});
export type ItemHistory = z.infer<typeof ItemHistory>;

/** One thing that a device did to its disk. */
export const DeviceEvent = z.object({
  /** Made by the device, so that a repeated report adds nothing. */
  id: z.string(),
  item: z.string(),
  kind: Kind,
  name: z.string(),
  action: z.enum(['wrote', 'adopted', 'removed', 'held_back', 'changed_here', 'failed']),
  /** Revision now on disk, and the one it replaced there. */
  revision: z.number().int().nullable(),
  replaced: z.number().int().nullable(),
  /** Device clock: for display, never for order. */
  at: z.number().int(),
  message: z.string().optional(),
});
export type DeviceEvent = z.infer<typeof DeviceEvent>;

/** `GET /api/v1/devices/{id}/history`, newest first. */
export const DeviceHistory = z.object({ device: z.string(), events: z.array(DeviceEvent) });
export type DeviceHistory = z.infer<typeof DeviceHistory>;

/** State of one item in one folder, from the bytes read back. */
export const ReportedItem = z.object({
  item: z.string(),
  kind: Kind,
  name: z.string(),
  state: z.enum(['written', 'adopted', 'held_back', 'changed_here', 'failed']),
  revision: z.number().int().nullable(),
  /** SHA-256 over what is on disk by the rule of `digest.ts`; null when nothing could be read. */
  digest: Digest.nullable(),
  message: z.string().optional(),
});
export type ReportedItem = z.infer<typeof ReportedItem>;

export const ReportedFolder = z.object({
  path: z.string(),
  kind: Kind,
  /** Client ids that read this folder. */
  clients: z.array(z.string()),
  state: z.enum(['written', 'failed']),
  message: z.string().optional(),
  items: z.array(ReportedItem),
  /** Item ids that are no longer in the folder. */
  gone: z.array(z.string()),
  /** True when `items` is all there is; else only what changed since the last accepted report. */
  complete: z.boolean(),
});
export type ReportedFolder = z.infer<typeof ReportedFolder>;

/** `PUT /api/v1/devices/self/report` */
export const ReportBody = z.strictObject({
  cursor: Cursor.nullable(),
  agent_version: z.string(),
  folders: z.array(ReportedFolder),
  /** Paths of folders that are no longer written. */
  dropped: z.array(z.string()),
  events: z.array(DeviceEvent),
});
export type ReportBody = z.infer<typeof ReportBody>;

/** `GET /api/v1/devices`: wish and fact apart. */
export const Device = z.object({
  id: z.string(),
  name: z.string(),
  platform: z.string(),
  paired_at: z.number().int(),
  last_seen_at: z.number().int().nullable(),
  revoked_at: z.number().int().nullable(),
  online: z.boolean(),
  /** Cursor up to which the device has reported; null before its first report. */
  cursor: Cursor.nullable(),
  folders: z.array(
    z.object({
      path: z.string(),
      kind: Kind,
      clients: z.array(z.string()),
      state: z.enum(['written', 'failed']),
      message: z.string().optional(),
      at: z.number().int(),
      counts: z.record(z.string(), z.number().int()),
    }),
  ),
  /** Items that are not on disk as wished. */
  exceptions: z.array(ReportedItem.extend({ path: z.string() })),
});
export type Device = z.infer<typeof Device>;
export const DeviceList = z.object({ devices: z.array(Device), cursor: Cursor });
export type DeviceList = z.infer<typeof DeviceList>;

/** `GET /api/v1/clients`: MCP clients seen. */
export const ClientSeen = z.object({
  name: z.string(),
  version: z.string(),
  device: z.string().nullable(),
  first_seen_at: z.number().int(),
  last_seen_at: z.number().int(),
});
export type ClientSeen = z.infer<typeof ClientSeen>;
export const ClientsSeen = z.object({ clients: z.array(ClientSeen) });
export type ClientsSeen = z.infer<typeof ClientsSeen>;

/** P-256 public key (RFC 7517). */
export const PublicJwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
});
export type PublicJwk = z.infer<typeof PublicJwk>;

/** `POST /api/v1/pairings`, with a DPoP proof by the new key. Shape of RFC 8628 section 3.2. */
export const PairingBody = z.strictObject({
  name: z.string().min(1).max(100),
  platform: z.string().min(1).max(100),
});
export const Pairing = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  /** Seconds. */
  expires_in: z.number().int(),
  interval: z.number().int(),
});
export type Pairing = z.infer<typeof Pairing>;

/** `POST /api/v1/pairings/token`, signed by the same key; errors by RFC 8628 section 3.5. */
export const PairingPollBody = z.strictObject({ device_code: z.string() });
export const Paired = z.object({ device: z.string(), name: z.string(), account: z.string() });
export type Paired = z.infer<typeof Paired>;

/** `GET /api/v1/pairings/{user_code}` and `POST …/approve`, `…/deny`: what a person checks before approving. */
export const PairingRequest = z.object({
  user_code: z.string(),
  name: z.string(),
  platform: z.string(),
  fingerprint: z.string(),
  place: z.string(),
  made_at: z.number().int(),
  state: z.enum(['pending', 'approved', 'denied', 'used']),
});
export type PairingRequest = z.infer<typeof PairingRequest>;

/** `POST /api/v1/devices/token`, with a DPoP proof: a 10-minute access token (RFC 9449 section 5). */
export const DeviceToken = z.object({
  access_token: z.string(),
  token_type: z.literal('DPoP'),
  /** Seconds. */
  expires_in: z.number().int(),
});
export type DeviceToken = z.infer<typeof DeviceToken>;

/** `GET /api/v1/whoami`: who the credentials belong to. */
export const Whoami = z.object({
  type: Author.shape.type,
  id: z.string(),
  name: z.string(),
  account_id: z.string(),
  scopes: z.array(Scope),
});
export type Whoami = z.infer<typeof Whoami>;
