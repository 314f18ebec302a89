import type { Command } from 'commander';
import { CLIENTS } from '../../schema/clients.ts';
import { openMirror } from '../mirror.ts';
import { changeSettings, readCondition, readSettings, rewindKey } from '../state.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { CommandFailed } from './failure.ts';
import { awaitingAgreement } from './here.ts';
import { agree } from './question.ts';
import { clientFoldersHere, wakeAgent } from './resolve.ts';
import { counted, wrap } from './text.ts';

interface ConfirmFlags {
  agreePersona?: string[];
  yes?: true;
  json?: true;
}

/** `confirm`: what the agent does only with the person's word. */
export function addConfirmCommand(program: Command, cli: Cli): void {
  const confirm = withJson(command(program, 'confirm', 'answer what the agent asks before it goes on'))
    .option('--agree-persona <name...>', 'write these personas also where their restriction is lost')
    .option('--yes', 'do not ask')
    .action((flags: ConfirmFlags) =>
      flags.agreePersona ? agreePersonas(cli, flags.agreePersona, flags) : confirmWaiting(cli, flags),
    );
  examples(confirm, 'confirm', 'confirm --yes', 'confirm --agree-persona reviewer');
}

async function confirmWaiting(cli: Cli, { yes, json }: ConfirmFlags): Promise<void> {
  const { output, state } = cli;
  const { brake, rewound } = readCondition(state);
  const settings = readSettings(state);
  const removals = brake?.items.filter(({ key }) => !settings.confirmed.includes(key)) ?? [];
  const follow = rewound && settings.rewound_to !== rewindKey(rewound) ? rewound : null;
  const personas = awaiting(cli);
  if (json) return output.json({ removals, rewound: follow, personas });
  if (removals.length === 0 && !follow && personas.length === 0) {
    return output.note('Nothing waits for your word here.');
  }
  if (follow) {
    output.note(wrap(follow.message, output.width));
    if (yes || (await agree(cli, 'Follow the registry from where it is now?'))) {
      changeSettings(state, () => ({ rewound_to: rewindKey(follow) }));
      output.line('The registry is followed from where it is now.');
    } else output.note('Nothing is written until you confirm.');
  }
  if (removals.length > 0) {
    const names = removals.map(({ kind, name }) => `${kind} ${name}`);
    output.note(`${counted(removals.length, 'item')} would be removed from this computer:`);
    output.note(`  ${wrap(names.join(', '), output.width - 2, '  ')}`);
    if (yes || (await agree(cli, 'Let them go?'))) {
      const keys = removals.map(({ key }) => key);
      changeSettings(state, ({ confirmed }) => ({ confirmed: [...new Set([...confirmed, ...keys])] }));
      output.line(`${counted(removals.length, 'item')} may go; "repertoire restore NAME" brings one back.`);
    } else output.note('They stay.');
  }
  if (personas.length > 0) showPersonas(cli, personas);
  await wakeAgent(cli.paths.instance);
}

type Awaiting = ReturnType<typeof awaitingAgreement>[number];

function awaiting(cli: Cli): Awaiting[] {
  const { state } = cli;
  const agreed = new Set(readSettings(state).agreed.map(({ item, client }) => `${item}\0${client}`));
  const mirror = openMirror(state.mirror, { readOnly: true });
  return awaitingAgreement(clientFoldersHere(cli), mirror).filter(
    ({ item, client }) => !agreed.has(`${item}\0${client}`),
  );
}

function showPersonas({ output }: Cli, all: readonly Awaiting[]): void {
  const byName = Map.groupBy(all, ({ name }) => name);
  output.note(
    wrap(
      `${counted(byName.size, 'persona')} ${byName.size === 1 ? 'restricts what it' : 'restrict what they'} may do, which some clients' files cannot carry; "repertoire confirm --agree-persona NAME" has one written there without the restriction:`,
      output.width,
    ),
  );
  output.table(
    [{ title: 'Persona' }, { title: 'Not written for' }],
    Array.from(byName, ([name, of]) => [name, of.map(({ client }) => titleOf(client)).join(', ')]),
  );
}

async function agreePersonas(cli: Cli, names: string[], { yes, json }: ConfirmFlags): Promise<void> {
  const { output, state, paths } = cli;
  const waiting = awaiting(cli).filter(({ name }) => names.includes(name));
  const unknown = names.find((name) => !waiting.some((each) => each.name === name));
  if (unknown !== undefined) {
    throw new CommandFailed(
      `No persona ${unknown} waits for your word here; "repertoire confirm" lists those that do.`,
    );
  }
  for (const { reason } of waiting) output.note(wrap(reason, output.width));
  const clients = [...new Set(waiting.map(({ client }) => titleOf(client)))].join(', ');
  if (!yes && !(await agree(cli, `Write ${names.join(', ')} for ${clients} without the restriction?`))) {
    return output.note('Nothing was changed.');
  }
  const now = waiting.map(({ item, client }) => ({ item, client }));
  changeSettings(state, ({ agreed }) => ({ agreed: [...agreed, ...now] }));
  if (json) output.json({ agreed: now });
  else output.line(`${names.join(', ')}: written for ${clients} without the restriction.`);
  await wakeAgent(paths.instance);
}

function titleOf(id: string): string {
  return CLIENTS.find((client) => client.id === id)?.title ?? id;
}
