/** Whose socket it is. Lives in the socket's attachment, so that an object that was evicted knows it again. */
export interface Bell {
  readonly device: string;
  /** RFC 7638 thumbprint of the key that opened the socket. */
  readonly thumbprint: string;
  /** When the device must prove its key again, milliseconds. */
  readonly expiresAt: number;
}

const DEVICE = 'x-repertoire-device';
const THUMBPRINT = 'x-repertoire-thumbprint';
const EXPIRES = 'x-repertoire-expires';

/** Headers of the upgrade that the Worker sends on: these alone, so that none comes from the client. */
export function bellHeaders({ device, thumbprint, expiresAt }: Bell): Headers {
  return new Headers({
    upgrade: 'websocket',
    [DEVICE]: device,
    [THUMBPRINT]: thumbprint,
    [EXPIRES]: String(expiresAt),
  });
}

export function readBell(headers: Headers): Bell {
  const device = headers.get(DEVICE);
  const thumbprint = headers.get(THUMBPRINT);
  const expiresAt = Number(headers.get(EXPIRES));
  if (!device || !thumbprint || !expiresAt)
    throw new TypeError('The upgrade does not say whose socket it is.');
  return { device, thumbprint, expiresAt };
}
