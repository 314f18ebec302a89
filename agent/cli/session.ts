import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { RegistryError } from '../../schema/errors.ts';
import type { Item, Kind } from '../../schema/item.ts';
import { readDeviceKey } from '../device-key.ts';
import { Registry } from '../registry.ts';
import { type DeviceRecord, readDevice } from '../state.ts';
import type { Cli, ConnectionFlags } from './cli.ts';
import { CommandFailed, WrongUsage } from './failure.ts';

export interface Session {
  registry: Registry;
  /** Origin of the registry. */
  url: string;
  /** This device, when the registry is spoken to as it. */
  device: DeviceRecord | null;
}

const Owner = z.object({
  url: z.url({ protocol: /^https?$/ }).optional(),
  token: z.string().regex(/^[\x21-\x7e]+$/),
});

/** A connection to the registry: with the token of a file where one is named, else as the paired device. */
export async function openSession({ environment, state }: Cli, flags: ConnectionFlags): Promise<Session> {
  if (flags.tokenFile !== undefined) {
    const owner = readTokenFile(resolve(environment.cwd, flags.tokenFile));
    const url = flags.url ?? owner.url;
    if (url === undefined) throw new WrongUsage(`${flags.tokenFile} has no url; give one with --url.`);
    const registry = new Registry({ url, credentials: { type: 'bearer', token: owner.token } });
    return { registry, url, device: null };
  }
  const device = readDevice(state);
  const key = device && (await readDeviceKey(state.key));
  if (!device || !key) {
    throw new CommandFailed(
      'This computer is not paired with a registry: run "repertoire pair URL", or name a token with --token-file.',
    );
  }
  if (flags.url !== undefined && flags.url !== new URL(device.url).origin) {
    throw new WrongUsage(
      `This computer is paired with ${device.url}; to talk to ${flags.url}, name a token for it with --token-file.`,
    );
  }
  const registry = new Registry({ url: device.url, credentials: { type: 'device', key } });
  return { registry, url: device.url, device };
}

/** The file that `npm start` writes for the owner. Nothing of its content is ever shown. */
export function readTokenFile(path: string): { url?: string | undefined; token: string } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EISDIR') throw new CommandFailed(`${path} is a folder, not a token file.`, { cause });
    if (!(cause instanceof SyntaxError)) throw cause;
  }
  const owner = Owner.safeParse(value);
  if (!owner.success)
    throw new CommandFailed(`${path} is no token file: it holds no JSON with url and token.`);
  return owner.data;
}

/** The item of a name; where a skill and a persona share it, `kind` decides, else one that is not removed. */
export async function findItem(registry: Registry, name: string, kind?: Kind): Promise<Item> {
  const kinds: Kind[] = kind ? [kind] : ['skill', 'persona'];
  const found = await Promise.all(kinds.map((each) => tryItem(registry, each, name)));
  const items = found.filter((item) => item !== null);
  const present = items.filter(({ state }) => state !== 'removed');
  if (present.length > 1) {
    throw new RegistryError(
      'ambiguous_name',
      `${name} is both a skill and a persona; say which with --kind.`,
    );
  }
  const item = present[0] ?? items[0];
  if (item) return item;
  throw new RegistryError(
    'not_found',
    `There is no ${kind ?? 'skill or persona'} named ${name}; "repertoire list" shows what there is.`,
  );
}

async function tryItem(registry: Registry, kind: Kind, name: string): Promise<Item | null> {
  try {
    return await registry.item({ kind, name });
  } catch (error) {
    if (error instanceof RegistryError && error.code === 'not_found') return null;
    throw error;
  }
}
