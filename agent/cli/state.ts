import type { Command } from 'commander';
import type { WriteAnswer } from '../../schema/api.ts';
import type { Item, Kind } from '../../schema/item.ts';
import {
  type Cli,
  type ConnectionFlags,
  examples,
  parseRevision,
  registryCommand,
  withJson,
  withKind,
} from './cli.ts';
import { sentence, WrongUsage } from './failure.ts';
import { agree } from './question.ts';
import { findItem, openSession, type Session } from './session.ts';

interface StateFlags extends ConnectionFlags {
  kind?: Kind;
  json?: true;
}

/** `enable`, `disable`, `remove`, `restore`, `rename`: what becomes of whole items. */
export function addStateCommands(program: Command, cli: Cli): void {
  for (const [name, state, what] of [
    ['enable', 'active', 'show items to every client again'],
    ['disable', 'disabled', 'hide items from every client, on every device'],
  ] as const) {
    const command = withJson(withKind(registryCommand(program, name, what)))
      .argument('<name...>')
      .action((names: string[], flags: StateFlags) =>
        eachItem(cli, names, flags, `${name}d`, async ({ registry }, item) => {
          if (item.state === state) return null;
          return registry.edit(item, { expected_revision: item.revision, state });
        }),
      );
    examples(command, `${name} code-review`, `${name} --kind persona architect`);
  }

  const remove = withJson(
    withKind(registryCommand(program, 'remove', 'remove items everywhere; restore brings them back')),
  )
    .argument('<name...>')
    .option('--yes', 'do not ask')
    .action((names: string[], flags: StateFlags & { yes?: true }) => removeItems(cli, names, flags));
  examples(remove, 'remove old-notes', 'remove old-notes older-notes --yes');

  const restore = withJson(
    withKind(registryCommand(program, 'restore', 'bring back removed items, or an older revision of one')),
  )
    .argument('<name...>')
    .option('--revision <n>', 'revision to bring back, as "history" numbers them', parseRevision)
    .action(async (names: string[], { revision, ...flags }: StateFlags & { revision?: number }) => {
      if (revision !== undefined && names.length > 1) {
        throw new WrongUsage('A revision belongs to one item: name only that one.');
      }
      const done = revision === undefined ? 'restored' : `restored as it was in revision ${revision}`;
      await eachItem(cli, names, flags, done, ({ registry }, item) =>
        registry.restore(item, {
          expected_revision: item.revision,
          ...(revision !== undefined && { revision }),
        }),
      );
    });
  examples(restore, 'restore old-notes older-notes', 'restore code-review --revision 3');

  const rename = withJson(
    withKind(registryCommand(program, 'rename', 'give an item another name, everywhere')),
  )
    .argument('<name>')
    .argument('<new>', 'a-z, 0-9 and single hyphens')
    .action((name: string, to: string, flags: StateFlags) =>
      eachItem(cli, [name], flags, `renamed to ${to}`, ({ registry }, item) =>
        registry.rename(item, { expected_revision: item.revision, to }),
      ),
    );
  examples(rename, 'rename review code-review');
}

async function removeItems(
  cli: Cli,
  names: string[],
  { yes, ...flags }: StateFlags & { yes?: true },
): Promise<void> {
  if (!yes) {
    const what = names.length === 1 ? names[0] : `these ${names.length} items (${names.join(', ')})`;
    if (!(await agree(cli, `Remove ${what} from every client on every device?`))) {
      cli.output.note('Nothing was removed.');
      return;
    }
  }
  await eachItem(cli, names, flags, 'removed', async ({ registry }, item) =>
    item.state === 'removed' ? null : registry.remove(item, item.revision),
  );
}

/** Does one thing to each item; one that fails does not stop the rest. `act` gives null where nothing was left to do. */
async function eachItem(
  cli: Cli,
  names: string[],
  { kind, json, ...connection }: StateFlags,
  done: string,
  act: (session: Session, item: Item) => Promise<WriteAnswer | null>,
): Promise<void> {
  const { output } = cli;
  const session = await openSession(cli, connection);
  const written: WriteAnswer['item'][] = [];
  for (const name of new Set(names)) {
    try {
      const item = await findItem(session.registry, name, kind);
      const answer = await act(session, item);
      if (json) written.push(answer?.item ?? item);
      else if (answer) output.line(`${item.kind} ${name}: ${done}.`);
      else output.line(`${item.kind} ${name}: ${done} already.`);
    } catch (error) {
      if (names.length === 1) throw error;
      cli.failed = true;
      output.note(output.wrapped(`${name}: ${sentence(error)}`));
    }
  }
  if (json) output.json({ items: written });
}
