import type { Command } from 'commander';
import type { Change, DeviceEvent } from '../../schema/api.ts';
import type { Author, Kind } from '../../schema/item.ts';
import { type Cli, type ConnectionFlags, examples, registryCommand, withJson, withKind } from './cli.ts';
import { findDevice } from './devices.ts';
import { WrongUsage } from './failure.ts';
import { findItem, openSession } from './session.ts';
import { moment } from './text.ts';

interface HistoryFlags extends ConnectionFlags {
  kind?: Kind;
  device?: string;
  json?: true;
}

/** `history`: what became of an item, or of the files on a device. */
export function addHistoryCommand(program: Command, cli: Cli): void {
  const history = withJson(
    withKind(registryCommand(program, 'history', "show an item's revisions, or what a computer did")),
  )
    .argument('[name]', 'an item; without one, what this computer did')
    .option('--device <device>', 'what this computer did, by name or id')
    .action((name: string | undefined, flags: HistoryFlags) => {
      if (name !== undefined && flags.device !== undefined) {
        throw new WrongUsage('Name an item or --device, not both.');
      }
      return name === undefined ? deviceHistory(cli, flags) : itemHistory(cli, name, flags);
    });
  examples(history, 'history code-review', 'history --device laptop', 'history');
}

async function itemHistory(
  cli: Cli,
  name: string,
  { kind, json, ...connection }: HistoryFlags,
): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const history = await registry.history(await findItem(registry, name, kind));
  if (json) return output.json(history);
  const { item, changes, devices } = history;
  output.line(output.style.bold(`${item.kind} ${item.name}: ${item.state}, revision ${item.revision}`));
  output.line();
  output.table(
    [{ title: 'When' }, { title: 'What' }, { title: 'Revision', align: 'right' }, { title: 'By' }],
    changes.map((change) => [
      moment(change.at),
      whatOf(change),
      revision(change.revision),
      by(change.author),
    ]),
  );
  if (devices.length === 0) return;
  output.line();
  output.table(
    [
      { title: 'On' },
      { title: 'Revision', align: 'right' },
      { title: 'State' },
      { title: 'Since' },
      { title: 'Folder' },
    ],
    devices.map((device) => [
      device.device_name,
      revision(device.revision),
      device.state.replace('_', ' '),
      moment(device.at),
      device.path,
    ]),
  );
}

async function deviceHistory(cli: Cli, { device, json, ...connection }: HistoryFlags): Promise<void> {
  const { output } = cli;
  const session = await openSession(cli, connection);
  const id = device === undefined ? session.device?.device : (await findDevice(session.registry, device)).id;
  if (id === undefined) throw new WrongUsage('Name an item, or a computer with --device.');
  const history = await session.registry.deviceHistory(id);
  if (json) return output.json(history);
  if (history.events.length === 0) return output.note('This computer has reported nothing yet.');
  output.table(
    [{ title: 'When' }, { title: 'What' }, { title: 'Revision', align: 'right' }, { title: 'Item' }],
    history.events.map((event) => [
      moment(event.at),
      event.action.replace('_', ' '),
      replaced(event),
      `${event.kind} ${event.name}${event.message === undefined ? '' : `: ${event.message}`}`,
    ]),
  );
}

function whatOf({ type, name }: Change): string {
  return type === 'renamed' ? `renamed to ${name}` : type;
}

function revision(n: number | null): string {
  return n === null ? '-' : String(n);
}

function replaced({ revision: now, replaced: before }: DeviceEvent): string {
  return before === null || before === now ? revision(now) : `${before} → ${revision(now)}`;
}

function by({ name, client }: Author): string {
  return client === undefined ? name : `${client} on ${name}`;
}
