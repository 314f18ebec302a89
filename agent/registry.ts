import type { z } from 'zod';
import {
  ChangesPage,
  ClientsSeen,
  type CreateBody,
  DeviceHistory,
  DeviceList,
  type EditBody,
  Guidelines,
  type GuidelinesBody,
  ItemHistory,
  ItemList,
  Paired,
  Pairing,
  type PairingBody,
  PairingRequest,
  type RenameBody,
  type ReportBody,
  type RestoreBody,
  SearchAnswer,
  Whoami,
  WriteAnswer,
} from '../schema/api.ts';
import { Item, type Kind } from '../schema/item.ts';
import { Http, type HttpOptions } from './http.ts';

interface ItemRef {
  kind: Kind;
  name: string;
}

/** The registry's web API, a method per route. Every failure is a RegistryError, as {@link Http} says. */
export class Registry {
  readonly http: Http;

  constructor(options: HttpOptions) {
    this.http = new Http(options);
  }

  list(filter: { kind?: Kind; removed?: boolean } = {}): Promise<z.infer<typeof ItemList>> {
    const query = { kind: filter.kind, removed: filter.removed ? '1' : undefined };
    return this.http.json('GET', '/api/v1/items', ItemList, { query });
  }

  search(q: string, kind?: Kind): Promise<z.infer<typeof SearchAnswer>> {
    return this.http.json('GET', '/api/v1/items', SearchAnswer, { query: { q, kind } });
  }

  item(ref: ItemRef): Promise<Item> {
    return this.http.json('GET', itemPath(ref), Item);
  }

  /** One file of the current revision. */
  file(ref: ItemRef, path: string): Promise<Uint8Array<ArrayBuffer>> {
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return this.http.bytes('GET', `${itemPath(ref)}/files/${encoded}`);
  }

  create(body: CreateBody): Promise<WriteAnswer> {
    return this.http.json('POST', '/api/v1/items', WriteAnswer, { body });
  }

  edit(ref: ItemRef, body: EditBody): Promise<WriteAnswer> {
    return this.http.json('PATCH', itemPath(ref), WriteAnswer, { body });
  }

  /** Leaves a tombstone, on which every device removes the item. Enabling and disabling is an edit. */
  remove(ref: ItemRef, expectedRevision: number): Promise<WriteAnswer> {
    const query = { expected_revision: String(expectedRevision) };
    return this.http.json('DELETE', itemPath(ref), WriteAnswer, { query });
  }

  restore(ref: ItemRef, body: RestoreBody): Promise<WriteAnswer> {
    return this.http.json('POST', `${itemPath(ref)}/restore`, WriteAnswer, { body });
  }

  rename(ref: ItemRef, body: RenameBody): Promise<WriteAnswer> {
    return this.http.json('POST', `${itemPath(ref)}/rename`, WriteAnswer, { body });
  }

  history(ref: ItemRef): Promise<ItemHistory> {
    return this.http.json('GET', `${itemPath(ref)}/history`, ItemHistory);
  }

  changes(since: string | null, signal?: AbortSignal): Promise<ChangesPage> {
    return this.http.json('GET', '/api/v1/changes', ChangesPage, {
      query: { since: since ?? undefined },
      signal,
    });
  }

  blob(digest: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    return this.http.bytes('GET', `/api/v1/blobs/${digest}`, { signal });
  }

  putBlob(digest: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.http.send('PUT', `/api/v1/blobs/${digest}`, { bytes });
  }

  guidelines(): Promise<Guidelines> {
    return this.http.json('GET', '/api/v1/guidelines', Guidelines);
  }

  setGuidelines(body: z.infer<typeof GuidelinesBody>): Promise<Guidelines> {
    return this.http.json('PUT', '/api/v1/guidelines', Guidelines, { body });
  }

  devices(): Promise<DeviceList> {
    return this.http.json('GET', '/api/v1/devices', DeviceList);
  }

  deviceHistory(device: string): Promise<z.infer<typeof DeviceHistory>> {
    return this.http.json('GET', `/api/v1/devices/${encodeURIComponent(device)}/history`, DeviceHistory);
  }

  /** Ends a device's access; `self` is the calling one. */
  revoke(device: string): Promise<void> {
    return this.http.send('DELETE', `/api/v1/devices/${encodeURIComponent(device)}`);
  }

  clients(): Promise<z.infer<typeof ClientsSeen>> {
    return this.http.json('GET', '/api/v1/clients', ClientsSeen);
  }

  report(body: ReportBody, signal?: AbortSignal): Promise<void> {
    return this.http.send('PUT', '/api/v1/devices/self/report', { body, signal });
  }

  startPairing(body: z.infer<typeof PairingBody>): Promise<Pairing> {
    return this.http.json('POST', '/api/v1/pairings', Pairing, { body });
  }

  /** `wait`: for how many seconds the registry may hold the question until a person has decided. */
  pollPairing(deviceCode: string, wait: number, signal?: AbortSignal): Promise<Paired> {
    const body = { device_code: deviceCode };
    return this.http.json('POST', '/api/v1/pairings/token', Paired, { body, wait, signal });
  }

  pairing(userCode: string): Promise<PairingRequest> {
    return this.http.json('GET', `/api/v1/pairings/${encodeURIComponent(userCode)}`, PairingRequest);
  }

  judgePairing(userCode: string, judgement: 'approve' | 'deny'): Promise<PairingRequest> {
    const path = `/api/v1/pairings/${encodeURIComponent(userCode)}/${judgement}`;
    return this.http.json('POST', path, PairingRequest);
  }

  whoami(): Promise<Whoami> {
    return this.http.json('GET', '/api/v1/whoami', Whoami);
  }
}

function itemPath({ kind, name }: ItemRef): string {
  return `/api/v1/items/${kind}/${encodeURIComponent(name)}`;
}
