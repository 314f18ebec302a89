import type { Command } from 'commander';
import type { Device, PairingRequest } from '../../schema/api.ts';
import { recogniseClient } from '../../schema/clients.ts';
import type { Registry } from '../registry.ts';
import { type Cli, type ConnectionFlags, examples, registryCommand, withJson } from './cli.ts';
import { CommandFailed } from './failure.ts';
import { agree } from './question.ts';
import { openSession } from './session.ts';
import { ago, moment } from './text.ts';

interface Flags extends ConnectionFlags {
  json?: true;
  yes?: true;
  all?: true;
}

/** `devices`, `approve`, `deny`, `revoke`, `clients`: who is connected to the registry. */
export function addDeviceCommands(program: Command, cli: Cli): void {
  const devices = withJson(registryCommand(program, 'devices', 'list the paired computers'))
    .option('--all', 'revoked ones too')
    .action((flags: Flags) => listDevices(cli, flags));
  examples(devices, 'devices', 'devices --all --json');

  const approve = withJson(registryCommand(program, 'approve', 'let in a computer that waits to be paired'))
    .argument('<code>', 'the code that it shows')
    .option('--yes', 'do not ask')
    .action((code: string, flags: Flags) => approveDevice(cli, code, flags));
  examples(approve, 'approve BCDF-GHJK --token-file owner.json');

  const deny = registryCommand(program, 'deny', 'turn away a computer that waits to be paired')
    .argument('<code>', 'the code that it shows')
    .action(async (code: string, flags: Flags) => {
      const { registry } = await openSession(cli, flags);
      const { name } = await registry.judgePairing(code, 'deny');
      cli.output.line(`${name} was turned away.`);
    });
  examples(deny, 'deny BCDF-GHJK --token-file owner.json');

  const revoke = registryCommand(program, 'revoke', "end a computer's access at once; its files stay")
    .argument('<device>', 'its name or id')
    .option('--yes', 'do not ask')
    .action((device: string, flags: Flags) => revokeDevice(cli, device, flags));
  examples(revoke, 'revoke old-laptop --token-file owner.json');

  const clients = withJson(registryCommand(program, 'clients', 'list the MCP clients that were seen')).action(
    (flags: Flags) => listClients(cli, flags),
  );
  examples(clients, 'clients');
}

async function listDevices(cli: Cli, { json, all, ...connection }: Flags): Promise<void> {
  const { output } = cli;
  const session = await openSession(cli, connection);
  const { devices, cursor } = await session.registry.devices();
  const shown = devices.filter(({ revoked_at }) => all || revoked_at === null);
  if (json) return output.json({ devices: shown, cursor });
  if (shown.length === 0) return output.note('No computer is paired; "repertoire pair URL" pairs one.');
  const now = Date.now();
  output.table(
    [
      { title: 'Name' },
      { title: 'Id' },
      { title: 'Platform' },
      { title: 'State' },
      { title: 'Exceptions', align: 'right' },
      { title: 'Up to date' },
    ],
    shown.map((device) => [
      device.id === session.device?.device ? `${device.name} (this)` : device.name,
      device.id.slice(0, 8),
      device.platform,
      stateOf(device, now),
      String(new Set(device.exceptions.map(({ item }) => item)).size),
      behind(device, cursor),
    ]),
  );
}

function stateOf(device: Device, now: number): string {
  if (device.revoked_at !== null) return 'revoked';
  if (device.online) return 'online';
  return device.last_seen_at === null ? 'never seen' : `seen ${ago(device.last_seen_at, now)}`;
}

function behind({ cursor, revoked_at }: Device, now: string): string {
  if (revoked_at !== null) return '-';
  if (cursor === null) return 'not reported yet';
  const missing = seqOf(now) - seqOf(cursor);
  return missing <= 0 ? 'yes' : `${missing} behind`;
}

/** Number of the change that a cursor stands at. */
export function seqOf(cursor: string): number {
  return Number(cursor.slice(cursor.indexOf(':') + 1));
}

async function approveDevice(cli: Cli, code: string, { json, yes, ...connection }: Flags): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const request = await registry.pairing(code);
  showRequest(cli, request);
  if (!yes && !(await agree(cli, `Let ${request.name} in?`))) {
    return output.note('It was not let in; its code runs out by itself, or "repertoire deny" turns it away.');
  }
  const approved = await registry.judgePairing(code, 'approve');
  if (json) return output.json(approved);
  output.line(`${approved.name} is paired.`);
}

function showRequest({ output }: Cli, { name, platform, place, fingerprint, made_at }: PairingRequest): void {
  const { bold } = output.style;
  output.note(`  Computer     ${bold(name)}`);
  output.note(`  Platform     ${platform}`);
  output.note(`  From         ${place}`);
  output.note(`  Asked        ${ago(made_at, Date.now())}`);
  output.note(`  Fingerprint  ${bold(fingerprint)}`);
  output.note('');
  output.note('Continue only if you started this on your own machine and the words are equal.');
}

async function revokeDevice(cli: Cli, wanted: string, { yes, ...connection }: Flags): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const device = await findDevice(registry, wanted);
  if (device.revoked_at !== null) return output.line(`${device.name} was revoked already.`);
  if (
    !yes &&
    !(await agree(cli, `End the access of ${device.name} (${device.platform})? Its files stay there.`))
  ) {
    return output.note('Nothing was changed.');
  }
  await registry.revoke(device.id);
  output.line(`${device.name} has no access any more. Its files stay on it.`);
}

/** A device by name, id or beginning of its id; one that is not revoked goes before others of its name. */
export async function findDevice(registry: Registry, wanted: string): Promise<Device> {
  const { devices } = await registry.devices();
  const named = devices.filter(({ id, name }) => id === wanted || name === wanted);
  const found =
    named.length > 0 ? named : devices.filter(({ id }) => wanted.length >= 4 && id.startsWith(wanted));
  const current = found.filter(({ revoked_at }) => revoked_at === null);
  const [device, another] = current.length > 0 ? current : found;
  if (!device) throw new CommandFailed(`There is no computer ${wanted}; "repertoire devices" lists them.`);
  if (another) {
    const ids = (current.length > 0 ? current : found).map(({ id }) => id.slice(0, 8)).join(', ');
    throw new CommandFailed(`Several computers are called ${wanted}; say which by id: ${ids}.`);
  }
  return device;
}

async function listClients(cli: Cli, { json, ...connection }: Flags): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const { clients } = await registry.clients();
  if (json) return output.json({ clients });
  if (clients.length === 0)
    return output.note('No MCP client was seen yet; "repertoire connect CLIENT" connects one.');
  const { devices } = await registry.devices();
  const nameOf = (id: string | null) => devices.find((device) => device.id === id)?.name ?? id ?? '-';
  output.table(
    [
      { title: 'Client' },
      { title: 'Version' },
      { title: 'On' },
      { title: 'First seen' },
      { title: 'Last seen' },
    ],
    clients.map((client) => [
      recogniseClient({ name: client.name })?.title ?? client.name,
      client.version,
      nameOf(client.device),
      moment(client.first_seen_at),
      ago(client.last_seen_at, Date.now()),
    ]),
  );
}
