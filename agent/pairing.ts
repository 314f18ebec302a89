import { setTimeout as sleep } from 'node:timers/promises';
import type { Paired, Pairing } from '../schema/api.ts';
import { RegistryError } from '../schema/errors.ts';
import { fingerprintWords } from '../schema/fingerprint.ts';
import { createDeviceKey, type DeviceKey } from './device-key.ts';
import type { HttpOptions } from './http.ts';
import { forgetMirror } from './mirror.ts';
import { Registry } from './registry.ts';
import { changeCondition, makeStateFolder, readDevice, type StateFiles, writeDevice } from './state.ts';

/** What a person compares and opens to approve the device. */
export interface PairingCode {
  code: string;
  link: string;
  /** The same words as on the approving side, or someone else's request is being approved. */
  fingerprint: string;
  /** Seconds. */
  expires_in: number;
}

export interface PairOptions {
  files: StateFiles;
  /** Origin of the registry. */
  url: string;
  /** As the dashboard shows it, such as the host name. */
  name: string;
  /** Such as `linux x64`. */
  platform: string;
  onCode(code: PairingCode): void;
  /** An API token with `devices:write` approves at once, without a person. */
  approveWith?: string | undefined;
  signal?: AbortSignal;
  fetch?: HttpOptions['fetch'];
  now?: () => number;
  /** For how long the registry may hold a question open, so that its answer comes at once. Seconds. */
  hold?: number;
  /** Waits between two questions. Milliseconds. */
  wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Well below the time after which a request is given up. */
const HOLD_S = 20;

/** This device is paired already. */
class AlreadyPaired extends Error {
  constructor(url: string, name: string) {
    super(`This device is paired with ${url} as ${name} already. Run "repertoire unpair" first.`);
    this.name = 'AlreadyPaired';
  }
}

/**
 * Pairs this device (the exchange of RFC 8628, each request signed by a new key of the device) and writes the key and
 * `device.json`. What is on disk and in the ledger stays, so that pairing again takes it over.
 * @throws AlreadyPaired, or RegistryError with one sentence per outcome: `expired_token`, `access_denied`, `unavailable`, …
 */
export async function pair(options: PairOptions): Promise<Paired> {
  const { files, name, platform, onCode, approveWith, fetch, now = Date.now } = options;
  const url = new URL(options.url).origin;
  const before = readDevice(files);
  if (before) throw new AlreadyPaired(before.url, before.name);
  makeStateFolder(files);
  const key = await createDeviceKey(files.key);
  const transport = { url, now, ...(fetch ? { fetch } : {}) };
  const registry = new Registry({ ...transport, credentials: { type: 'key', key } });
  const pairing = await registry.startPairing({ name, platform });
  onCode({
    code: pairing.user_code,
    link: pairing.verification_uri_complete,
    fingerprint: fingerprintWords(key.thumbprint),
    expires_in: pairing.expires_in,
  });
  if (approveWith !== undefined) {
    const owner = new Registry({ ...transport, credentials: { type: 'bearer', token: approveWith } });
    await owner.judgePairing(pairing.user_code, 'approve');
  }
  const paired = await poll({ ...options, now, transport }, registry, key, pairing);
  forgetMirror(files.mirror);
  writeDevice(files, { url, ...paired });
  changeCondition(files, { unpaired: null, rewound: null, brake: null });
  return paired;
}

type Polling = PairOptions & { now: () => number; transport: Omit<HttpOptions, 'credentials'> };

async function poll(options: Polling, registry: Registry, key: DeviceKey, pairing: Pairing): Promise<Paired> {
  const { now, signal, wait = sleepFor } = options;
  const ends = now() + pairing.expires_in * 1000;
  let interval = pairing.interval * 1000;
  let hold = options.hold ?? HOLD_S;
  let lost: RegistryError | null = null;
  for (;;) {
    const asked = now();
    try {
      return await registry.pollPairing(pairing.device_code, hold, signal);
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const last = error;
      switch (error.code) {
        case 'authorization_pending':
          break;
        case 'slow_down':
          interval += 5000;
          break;
        case 'unavailable':
          lost = error;
          // Whatever stands between may cut a request that is silent for long.
          hold = 0;
          interval = Math.min(interval * 2, 60_000);
          break;
        case 'expired_token': {
          const paired = lost && (await whoAmI(options, key));
          if (paired) return paired;
          throw error;
        }
        default:
          throw error;
      }
      if (now() + interval >= ends) throw expired(last);
    }
    // A question that was held has taken its interval already.
    const rest = asked + interval - now();
    if (rest > 0) await wait(rest, signal);
  }
}

/** The answer that said "paired" may have been lost on its way; then the key is known already. */
async function whoAmI({ transport }: Polling, key: DeviceKey): Promise<Paired | null> {
  try {
    const registry = new Registry({ ...transport, credentials: { type: 'device', key } });
    const { id, name, account_id } = await registry.whoami();
    return { device: id, name, account: account_id };
  } catch (error) {
    if (error instanceof RegistryError) return null;
    throw error;
  }
}

function expired(last: RegistryError): RegistryError {
  if (last.code === 'unavailable') return last;
  return new RegistryError(
    'expired_token',
    'Nobody approved this device before its code ran out. Run "repertoire pair" again for a new code.',
    {},
    { cause: last },
  );
}

async function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {});
}
