import type { Command } from 'commander';
import { RegistryError } from '../../schema/errors.ts';
import type { ItemSummary } from '../../schema/item.ts';
import type { AgentStatus } from '../daemon.ts';
import { ask } from '../instance.ts';
import { openMirror } from '../mirror.ts';
import { presentFolders } from '../pass.ts';
import { openRecords, readCondition, readDevice, readSettings } from '../state.ts';
import { type Cli, command, examples, withJson } from './cli.ts';
import { seqOf } from './devices.ts';
import { sentence } from './failure.ts';
import { type Exception, type FolderHere, readHere } from './here.ts';
import { openSession } from './session.ts';
import { ago, counted, wrap } from './text.ts';

/** `status --json`: wish and fact apart. */
interface Status {
  state_folder: string;
  paired: { url: string; account: string; device: string; name: string } | null;
  registry: {
    /** Whether it answered at all, be it with a refusal. */
    reachable: boolean;
    /** Whether what is wanted was asked just now. */
    current: boolean;
    /** Why not. */
    problem: string | null;
    /** Where it is; null when it cannot be reached. */
    cursor: string | null;
  };
  agent: {
    running: boolean;
    listening: boolean;
    /** When another machine took its place with the same key. */
    replaced_at: number | null;
    /** Null, as is what follows, when it is too busy to answer. */
    pid: number | null;
    /** Up to which change this computer knows the registry. */
    cursor: string | null;
    /** Changes that it does not know yet; null when the registry cannot be reached. */
    behind: number | null;
    last_pass_at: number | null;
    problem: string | null;
  };
  /** What waits for the person: one sentence each. */
  questions: string[];
  folders: FolderHere[];
}

/** Exceptions of one kind beyond these are counted, not listed. */
const LISTED = 12;
/** As many items with one reason are still listed one by one. */
const FEW = 3;

/** `status`: what is on disk here beside what the registry wants. */
export function addStatusCommand(program: Command, cli: Cli): void {
  const status = withJson(
    command(program, 'status', 'show what is on disk here and what the registry wants'),
  );
  status.action(async ({ json }: { json?: true }) => {
    const found = await readStatus(cli);
    if (json) cli.output.json(found);
    else showStatus(cli, found);
  });
  examples(status, 'status', 'status --json');
}

async function readStatus(cli: Cli): Promise<Status> {
  const { environment, state } = cli;
  const device = readDevice(state);
  const { env, home, platform } = environment;
  const mirror = openMirror(state.mirror, { readOnly: true });
  const [asked, registry] = await Promise.all([askAgent(cli), askRegistry(cli, device !== null)]);
  const agent = asked === 'silent' ? null : asked;
  const condition = readCondition(state);
  const cursor = agent?.cursor ?? mirror.cursor;
  const known = cursor !== null && registry.cursor !== null;
  return {
    state_folder: cli.paths.state,
    paired: device && { url: device.url, account: device.account, device: device.device, name: device.name },
    registry: {
      reachable: registry.reachable,
      current: registry.items !== null,
      problem: registry.problem,
      cursor: registry.cursor,
    },
    agent: {
      running: asked !== null,
      listening: agent?.listening ?? false,
      replaced_at: agent?.replaced_at ?? null,
      pid: agent?.pid ?? null,
      cursor,
      behind: known ? Math.max(0, seqOf(registry.cursor as string) - seqOf(cursor)) : null,
      last_pass_at: agent?.last_pass_at ?? null,
      problem: agent?.problem ?? null,
    },
    questions: [
      ...[condition.unpaired, condition.rewound, condition.brake].flatMap((each) =>
        each ? [each.message] : [],
      ),
      ...(device && agent?.replaced_at ? [twoMachines(device.name, agent.replaced_at)] : []),
    ],
    folders: readHere({
      folders: presentFolders({ env, home, platform }, readSettings(state)),
      items: registry.items ?? [...mirror.items()],
      records: openRecords(state, { readOnly: true }),
      isKnown: (id) => mirror.item(id) !== undefined,
    }),
  };
}

function twoMachines(name: string, since: number): string {
  return `Another machine took this one's place with the same key ${ago(since, Date.now())}. Of two machines with one key one is a copy: "repertoire revoke ${name}" ends both, and each is paired anew.`;
}

/** Null when no agent runs; `silent` when one does and is too busy to say more. */
async function askAgent({ paths }: Cli): Promise<AgentStatus | 'silent' | null> {
  return (await ask(paths.instance, { type: 'status' }, 5000).catch(() => 'silent')) as
    | AgentStatus
    | 'silent';
}

interface RegistryNow {
  reachable: boolean;
  items: ItemSummary[] | null;
  cursor: string | null;
  problem: string | null;
}

async function askRegistry(cli: Cli, paired: boolean): Promise<RegistryNow> {
  if (!paired) return { reachable: false, items: null, cursor: null, problem: null };
  try {
    const { registry } = await openSession(cli, {});
    const [{ items }, { cursor }] = await Promise.all([registry.list(), registry.devices()]);
    return { reachable: true, items, cursor, problem: null };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { reachable: error.code !== 'unavailable', items: null, cursor: null, problem: sentence(error) };
  }
}

function showStatus(cli: Cli, { paired, registry, agent, questions, folders }: Status): void {
  const { output } = cli;
  const { bold, dim, green, red, yellow } = output.style;
  const field = (name: string, value: string) =>
    output.line(`${bold(name.padEnd(10))}${wrap(value, output.width - 10, ' '.repeat(10))}`);

  const reached = ({ reachable, current }: Status['registry']) =>
    current ? green('reachable') : reachable ? red('refuses this computer') : red('not reachable');
  if (paired) {
    field('Registry', `${paired.url}, ${reached(registry)}`);
    if (registry.problem !== null) field('', registry.problem);
    field('Computer', `${paired.name} (${paired.device.slice(0, 8)}), ${progressOf(agent.behind)}`);
  } else {
    field('Computer', `${yellow('not paired')}; "repertoire pair URL" pairs it`);
  }
  field('Agent', agentLine(agent, Date.now()));
  if (agent.problem !== null) field('', agent.problem);
  for (const question of questions) field('Waits', yellow(question));
  output.line();
  output.table(
    [
      { title: 'Kind' },
      { title: 'Wanted', align: 'right' },
      { title: 'On disk', align: 'right' },
      { title: 'Folder' },
      { title: 'Read by' },
    ],
    folders.map((folder) => [
      `${folder.kind}s`,
      String(folder.wanted),
      String(folder.on_disk),
      tilde(cli, folder.path),
      folder.clients.length > 0 ? folder.clients.join(', ') : 'no client that is here',
    ]),
  );
  if (!registry.current && paired) output.line(dim('Wanted is as last known.'));
  const restart = [...new Set(folders.flatMap((folder) => folder.restart))];
  if (restart.length > 0)
    output.line(dim(`${restart.join(', ')}: a running one sees changes after a restart.`));

  for (const { problem } of folders) {
    if (problem !== null) {
      output.line();
      output.line(yellow(wrap(problem, output.width)));
    }
  }
  const exceptions = folders.flatMap((folder) => folder.exceptions);
  if (exceptions.length === 0) return;
  output.line();
  output.line(bold(`${counted(exceptions.length, 'exception')}`));
  for (const [state, of] of Map.groupBy(exceptions, (exception) => exception.state))
    showExceptions(cli, state, of);
}

function showExceptions(cli: Cli, state: Exception['state'], all: readonly Exception[]): void {
  const { output } = cli;
  if (state === 'awaits_agreement') {
    showAgreements(cli, all);
    return;
  }
  // One reason that holds for many items is one thing to know; so is one item in several folders.
  const groups = [...Map.groupBy(all, ({ kind, message }) => `${kind}\0${message}`).values()].flatMap(
    (of) => {
      const single = [...Map.groupBy(of, ({ name }) => name).values()];
      return single.length > FEW ? [of] : single;
    },
  );
  const what = output.style.yellow(state.replaceAll('_', ' '));
  for (const group of groups.slice(0, LISTED)) {
    const [{ kind, message }] = group as [Exception];
    const names = [...new Set(group.map(({ name }) => name))].toSorted();
    const where = [...new Set(group.map(({ folder }) => tilde(cli, folder)))].join(', ');
    const head =
      names.length === 1
        ? `${kind} ${names[0]}: ${what} in ${where}.`
        : `${counted(names.length, kind)} ${what} in ${where}: ${listed(names)}.`;
    output.line(`  ${wrap(`${head} ${message}`, output.width - 2, '    ')}`);
  }
  const more = groups.length - LISTED;
  if (more > 0) output.line(`  and ${more} more ${state.replaceAll('_', ' ')} (--json lists all)`);
}

function listed(names: readonly string[]): string {
  const more = names.length - LISTED;
  return `${names.slice(0, LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** There may be many, and one answer does for all. */
function showAgreements(cli: Cli, all: readonly Exception[]): void {
  const { output } = cli;
  const names = [...new Set(all.map(({ name }) => name))];
  const where = [...new Set(all.map(({ folder }) => tilde(cli, folder)))].join(', ');
  const head = `${counted(names.length, 'persona')} ${output.style.yellow(names.length === 1 ? 'awaits your word' : 'await your word')} in ${where}: ${names.join(', ')}.`;
  const why = 'The files there cannot carry what restricts them; "repertoire confirm" says more.';
  output.line(`  ${wrap(`${head} ${why}`, output.width - 2, '    ')}`);
}

function progressOf(behind: number | null): string {
  if (behind === null) return 'not compared with the registry';
  return behind === 0 ? 'knows every change' : `${counted(behind, 'change')} behind`;
}

function agentLine(
  { running, listening, replaced_at, pid, last_pass_at }: Status['agent'],
  now: number,
): string {
  if (!running) return 'not running; "repertoire run" starts it';
  if (pid === null) return 'running, and too busy to answer just now';
  const pass = last_pass_at === null ? 'no pass yet' : `last pass ${ago(last_pass_at, now)}`;
  const ear =
    replaced_at !== null
      ? 'asking on a timer, since another machine listens in its place'
      : listening
        ? 'listening for changes'
        : 'not connected just now';
  return `running (process ${pid}), ${ear}, ${pass}`;
}

/** The home folder as `~`. */
export function tilde({ environment: { home } }: Cli, path: string): string {
  return path.startsWith(`${home}/`) || path.startsWith(`${home}\\`) ? `~${path.slice(home.length)}` : path;
}
