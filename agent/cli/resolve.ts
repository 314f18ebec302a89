import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { ClientFolder } from '../../schema/folders.ts';
import type { Kind } from '../../schema/item.ts';
import { ask } from '../instance.ts';
import { presentFolders } from '../pass.ts';
import { changeSettings, type Fact, openRecords, readSettings } from '../state.ts';
import { type Cli, type ConnectionFlags, examples, registryCommand, withJson, withKind } from './cli.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { needsAgreement } from './here.ts';
import { findSources } from './import/find.ts';
import { readItem } from './import/read.ts';
import { sendItem } from './import/send.ts';
import { findItem, openSession } from './session.ts';
import { tilde } from './status.ts';
import { wrap } from './text.ts';

interface ResolveFlags extends ConnectionFlags {
  kind?: Kind;
  adopt?: true;
  rename?: string;
  skip?: true;
  unskip?: true;
  folder?: string;
  json?: true;
}

/** An item that the agent leaves alone in a folder, because what is there is the person's. */
interface Held {
  item: string;
  kind: Kind;
  name: string;
  state: 'held_back' | 'changed_here';
  folder: string;
  message: string;
  skipped: boolean;
}

/** `resolve`: what the person decides where their own files hold a name. */
export function addResolveCommand(program: Command, cli: Cli): void {
  const resolve = withJson(
    withKind(registryCommand(program, 'resolve', 'decide where your own files and an item share a name')),
  )
    .argument('[name]', 'the item; without one, all that wait are listed')
    .option('--adopt', "make your files the item's next revision, on every device")
    .option('--rename <new>', 'give the item another name, so that both exist')
    .option('--skip', 'keep your files, and do without the item in that folder')
    .option('--unskip', 'take a skip back')
    .option('--folder <path>', 'only in this client folder')
    .action((name: string | undefined, flags: ResolveFlags) =>
      name === undefined ? listHeld(cli, flags) : resolveItem(cli, name, flags),
    );
  examples(
    resolve,
    'resolve',
    'resolve code-review --adopt',
    'resolve code-review --rename code-review-team',
    'resolve code-review --skip',
  );
}

function listHeld(cli: Cli, { json }: ResolveFlags): void {
  const { output } = cli;
  const held = readHeld(cli);
  if (json || held.length === 0) {
    if (json) output.json({ held });
    else output.note('Nothing is held back here.');
    return;
  }
  for (const { kind, name, folder, message } of held) {
    output.line(`${output.style.bold(`${kind} ${name}`)} in ${tilde(cli, folder)}`);
    output.line(`  ${wrap(message, output.width - 2, '  ')}`);
  }
  output.line();
  output.line('Choose for each: repertoire resolve NAME --adopt, --rename NEW or --skip.');
}

async function resolveItem(cli: Cli, name: string, flags: ResolveFlags): Promise<void> {
  const { output, state, paths } = cli;
  const chosen = [flags.adopt, flags.rename, flags.skip, flags.unskip].filter((flag) => flag !== undefined);
  const held = readHeld(cli).filter(
    (each) =>
      each.name === name &&
      (flags.kind === undefined || each.kind === flags.kind) &&
      (flags.folder === undefined ||
        each.folder === flags.folder ||
        tilde(cli, each.folder) === flags.folder),
  );
  const [first] = held;
  if (!first) throw new CommandFailed(`${name} is not held back here; "repertoire resolve" lists what is.`);
  if (chosen.length !== 1) {
    throw new WrongUsage(`Say one thing to do about ${first.kind} ${name}: --adopt, --rename NEW or --skip.`);
  }
  if (held.some(({ kind }) => kind !== first.kind)) {
    throw new WrongUsage(`${name} is both a skill and a persona; say which with --kind.`);
  }
  if (flags.rename !== undefined) {
    const { registry } = await openSession(cli, flags);
    const item = await findItem(registry, name, first.kind);
    await registry.rename(item, { expected_revision: item.revision, to: flags.rename });
    output.line(`The registry's ${first.kind} ${name} is called ${flags.rename} now; yours keeps the name.`);
  } else if (flags.adopt) {
    await adopt(cli, held, flags);
  } else {
    const kept = (each: { item: string; folder: string }) =>
      !held.some(({ item, folder }) => item === each.item && folder === each.folder);
    const now = flags.skip ? held.map(({ item, folder }) => ({ item, folder })) : [];
    changeSettings(state, ({ skipped }) => ({ skipped: [...skipped.filter(kept), ...now] }));
    output.line(
      flags.skip
        ? `${first.kind} ${name} is skipped in ${held.map(({ folder }) => tilde(cli, folder)).join(', ')}.`
        : `${first.kind} ${name} is no longer skipped.`,
    );
  }
  await wakeAgent(paths.instance);
}

/** The person's files become the item's next revision; the next pass finds them as wanted. */
async function adopt(cli: Cli, held: readonly Held[], flags: ResolveFlags): Promise<void> {
  const { output, paths, state } = cli;
  const { executableBit } = paths;
  const folders = new Map(clientFoldersHere(cli).map((folder) => [folder.path, folder]));
  const items = held.map((each) => ({ each, item: readOwn(each, folders.get(each.folder), executableBit) }));
  const digests = new Set(items.map(({ item }) => item.digest));
  const [first] = items;
  if (!first) return;
  const { kind, name } = first.each;
  if (digests.size > 1) {
    const choices = held.map(({ folder }) => `--folder ${tilde(cli, folder)}`).join(' or ');
    throw new CommandFailed(
      `Your files called ${name} differ between folders; say which to adopt: ${choices}.`,
    );
  }
  const { registry } = await openSession(cli, flags);
  const current = await findItem(registry, name, kind);
  const sent = await sendItem(registry, first.item, current, { update: true, executableBit });
  const here = (each: { item: string; folder: string }) =>
    held.some(({ item, folder }) => item === each.item && folder === each.folder);
  changeSettings(state, ({ skipped }) => ({ skipped: skipped.filter((each) => !here(each)) }));
  output.line(`Your ${kind} ${name} is revision ${sent.item.revision} now, on every device.`);
}

function readOwn({ kind, name, folder }: Held, client: ClientFolder | undefined, executableBit: boolean) {
  if (kind === 'persona' && client?.format !== 'claude-code') {
    throw new CommandFailed(
      `The persona in ${folder} is in a format of that client's own, so it cannot be adopted; rename the item, or skip it there.`,
    );
  }
  const path = join(folder, kind === 'persona' ? `${name}.md` : name);
  if (!existsSync(path))
    throw new CommandFailed(`${path} does not exist any more; there is nothing to adopt.`);
  const { sources, misfits } = findSources(path, kind);
  const [source] = sources;
  if (!source) throw new CommandFailed(`${path} ${misfits[0]?.reason ?? 'is no item.'}`);
  return readItem(source, { executableBit });
}

function readHeld(cli: Cli): Held[] {
  const { state } = cli;
  const skipped = new Set(readSettings(state).skipped.map(({ item, folder }) => `${folder}\0${item}`));
  return Array.from(openRecords(state, { readOnly: true }).facts.entries(), ([, fact]) => fact)
    .filter((fact): fact is Fact & { state: Held['state'] } => isHeld(fact))
    .map(({ item, kind, name, state: held, folder, message = '' }) => ({
      item,
      kind,
      name,
      state: held,
      folder,
      message,
      skipped: skipped.has(`${folder}\0${item}`),
    }))
    .sort((a, b) => (`${a.kind} ${a.name} ${a.folder}` < `${b.kind} ${b.name} ${b.folder}` ? -1 : 1));
}

/** What waits for `confirm` is no quarrel about a name. */
function isHeld(fact: Fact): boolean {
  if (fact.state === 'changed_here') return true;
  return fact.state === 'held_back' && !needsAgreement(fact) && !fact.message?.includes('repertoire confirm');
}

export function clientFoldersHere({ environment, state }: Cli): ClientFolder[] {
  const { env, home, platform } = environment;
  return presentFolders({ env, home, platform }, readSettings(state));
}

/** Has the running agent look again; without one, the next that runs does. */
export async function wakeAgent(instance: string): Promise<boolean> {
  return (await ask(instance, { type: 'sync' }).catch(() => null)) !== null;
}
