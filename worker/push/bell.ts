/** Whose socket it is. Lives in the socket's attachment, so that an object that was evicted knows it again. */
export interface Bell {
  readonly device: string;
  /** RFC 7638 thumbprint of the key that opened the socket. */
  readonly thumbprint: string;
  /** When the device must prove its key again, milliseconds. */
  readonly expiresAt: number;
  /** From where and since when it is connected, for the person who finds one key on two machines. */
  readonly place: string;
  readonly since: number;
}

const DEVICE = 'x-repertoire-device';
const THUMBPRINT = 'x-repertoire-thumbprint';
const EXPIRES = 'x-repertoire-expires';
const PLACE = 'x-repertoire-place';
const SINCE = 'x-repertoire-since';

/** Headers of the upgrade that the Worker sends on: these alone, so that none comes from the client. */
export function bellHeaders({ device, thumbprint, expiresAt, place, since }: Bell): Headers {
  return new Headers({
    upgrade: 'websocket',
    [DEVICE]: device,
    [THUMBPRINT]: thumbprint,
    [EXPIRES]: String(expiresAt),
    [PLACE]: encodeURIComponent(place),
    [SINCE]: String(since),
  });
}

export function readBell(headers: Headers): Bell {
  const device = headers.get(DEVICE);
  const thumbprint = headers.get(THUMBPRINT);
  const expiresAt = Number(headers.get(EXPIRES));
  const place = headers.get(PLACE);
  const since = Number(headers.get(SINCE));
  if (!device || !thumbprint || !expiresAt || !place || !since)
    throw new TypeError('The upgrade does not say whose socket it is.');
  return { device, thumbprint, expiresAt, place: decodeURIComponent(place), since };
}
