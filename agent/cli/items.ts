import { type Command, Option } from 'commander';
import { decodeText } from '../../schema/frontmatter.ts';
import { type Flag, type Item, type ItemSummary, type Kind, MAIN_FILE } from '../../schema/item.ts';
import { oneLine } from '../../schema/visible.ts';
import { type Cli, type ConnectionFlags, examples, registryCommand, withJson, withKind } from './cli.ts';
import { CommandFailed } from './failure.ts';
import type { Output } from './output.ts';
import { findItem, openSession } from './session.ts';
import { byteSize, counted, moment, wrap } from './text.ts';

interface ListFlags extends ConnectionFlags {
  kind?: Kind;
  removed?: true;
  search?: string;
  json?: true;
}

interface ShowFlags extends ConnectionFlags {
  kind?: Kind;
  files?: true;
  json?: true;
}

const ONLY = 'only this kind';

/** `list`, `search`, `show`: what the registry holds. */
export function addItemCommands(program: Command, cli: Cli): void {
  const list = withJson(withKind(registryCommand(program, 'list', 'list skills and personas'), ONLY))
    .addOption(new Option('--removed', 'removed ones as well').conflicts('search'))
    .option('--search <text>', 'only those in which the text is found, best first')
    .action((flags: ListFlags) =>
      flags.search === undefined ? listItems(cli, flags) : searchItems(cli, flags.search, flags),
    );
  examples(list, 'list', 'list --kind persona --json', 'list --removed');

  const search = withJson(
    withKind(registryCommand(program, 'search', 'find skills and personas by text'), ONLY),
  )
    .argument('<text...>')
    .action((words: string[], flags: ListFlags) => searchItems(cli, words.join(' '), flags));
  examples(search, 'search pull request review');

  const show = withJson(withKind(registryCommand(program, 'show', 'show an item, or one of its files')))
    .argument('<name>')
    .argument('[path]', 'file of the item; SKILL.md or PERSONA.md unless given')
    .option('--files', 'list the files instead')
    .action((name: string, path: string | undefined, flags: ShowFlags) => showItem(cli, name, path, flags));
  examples(
    show,
    'show code-review',
    'show code-review references/style.md > style.md',
    'show code-review --files',
  );
}

async function listItems(cli: Cli, { kind, removed, json, ...connection }: ListFlags): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const { items } = await registry.list({ ...(kind && { kind }), ...(removed && { removed }) });
  if (json) return output.json({ items });
  if (items.length === 0) {
    return output.note(
      `There are no ${kind ?? 'skill'}s${kind ? '' : ' and no personas'} yet; "repertoire add FOLDER" adds some.`,
    );
  }
  const states = items.some((item) => stateOf(item) !== '');
  output.table(
    [
      { title: 'Name', most: 30 },
      { title: 'Kind' },
      ...(states ? [{ title: 'State' }] : []),
      { title: 'Description' },
    ],
    items.map((item) => [item.name, item.kind, ...(states ? [stateOf(item)] : []), item.description]),
  );
  if (items.some(({ flags }) => flags.length > 0)) {
    output.note('* Not every client reads it as meant: "repertoire show NAME" says more.');
  }
}

async function searchItems(cli: Cli, text: string, { kind, json, ...connection }: ListFlags): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const { hits } = await registry.search(text, kind);
  if (json) return output.json({ hits });
  if (hits.length === 0) return output.note(`Nothing holds ${JSON.stringify(text)}.`);
  for (const hit of hits) {
    output.line(
      `${output.style.bold(hit.name)}  ${hit.kind}${hit.state === 'active' ? '' : `, ${hit.state}`}`,
    );
    output.line(`  ${wrap(`${hit.path}: ${oneLine(hit.passage)}`, output.width - 2, '  ')}`);
  }
}

async function showItem(
  cli: Cli,
  name: string,
  path: string | undefined,
  { kind, files, json, ...connection }: ShowFlags,
): Promise<void> {
  const { output } = cli;
  const { registry } = await openSession(cli, connection);
  const item = await findItem(registry, name, kind);
  if (json && path === undefined) return output.json(item);
  if (files) return listFiles(cli, item);
  const wanted = path ?? MAIN_FILE[item.kind];
  const entry = item.files.find((file) => file.path === wanted);
  if (!entry) {
    throw new CommandFailed(
      `${name} has no file ${wanted}; "repertoire show ${name} --files" lists what it has.`,
    );
  }
  const bytes = await registry.blob(entry.digest);
  const content = decodeText(bytes);
  if (json) {
    const body = content === null ? { base64: Buffer.from(bytes).toString('base64') } : { text: content };
    return output.json({ ...entry, ...body });
  }
  if (path === undefined) describe(cli, item);
  if (!output.terminal) return output.bytes(bytes);
  if (content === null) {
    throw new CommandFailed(
      `${wanted} is no text; send it into a file: repertoire show ${name} ${wanted} > FILE`,
    );
  }
  output.line(content.replace(/\n$/, ''));
}

/** Goes to stderr, so that the file alone is on stdout. */
function describe({ output }: Cli, item: Item): void {
  const others = item.files.length - 1;
  const more = others > 0 ? `, with ${counted(others, 'more file')} (--files)` : '';
  output.note(
    output.wrapped(
      `${item.kind} ${item.name}, ${item.state}, revision ${item.revision} of ${moment(item.updated_at)}${more}`,
    ),
  );
  noteFlags(output, item.flags);
  output.note('');
}

/** Says where some client does not read the item as it was meant. */
export function noteFlags(output: Output, flags: readonly Flag[]): void {
  for (const { message, line } of flags) {
    output.note(
      `  ${wrap(`note: ${oneLine(message)}${line ? ` (line ${line})` : ''}`, output.width - 2, '    ')}`,
    );
  }
}

function listFiles({ output }: Cli, { files }: Item): void {
  output.table(
    [{ title: 'Size', align: 'right' }, { title: 'Mode' }, { title: 'SHA-256' }, { title: 'Path' }],
    files.map((file) => [
      byteSize(file.size),
      file.executable ? 'exec' : '-',
      file.digest.slice(0, 12),
      file.path,
    ]),
  );
}

/** Nothing for what is as usual, so that the eye finds the rest. */
function stateOf({ state, flags }: ItemSummary): string {
  return `${state === 'active' ? '' : state}${flags.length > 0 ? '*' : ''}`;
}
