import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Confirmation, EditBody } from '../../schema/api.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { type FileContent, type Item, type Kind, MAIN_FILE } from '../../schema/item.ts';
import {
  type Cli,
  type ConnectionFlags,
  examples,
  registryCommand,
  withConfirm,
  withJson,
  withKind,
} from './cli.ts';
import { CommandFailed, sentence, WrongUsage } from './failure.ts';
import { readInput } from './guidelines.ts';
import { noteFlags } from './items.ts';
import { findItem, openSession, type Session } from './session.ts';

interface EditFlags extends ConnectionFlags {
  kind?: Kind;
  description?: string;
  instructions?: string;
  file?: [path: string, file: string][];
  deleteFile?: string[];
  confirm?: Confirmation[];
  json?: true;
}

type Changes = Omit<EditBody, 'expected_revision'>;

/** `edit`: an item's text and files, in the person's editor or by flags. */
export function addEditCommand(program: Command, cli: Cli): void {
  const edit = withConfirm(
    withJson(
      withKind(registryCommand(program, 'edit', 'edit an item, in your editor unless flags say what')),
    ),
  )
    .argument('<name>')
    .option('--description <text>', 'replace the description')
    .option('--instructions <file>', 'replace the text after the front matter; - takes the input')
    .option(
      '--file <path=file>',
      'add or replace a file of the item',
      (value, before: [string, string][] = []) => [...before, parseFile(value)],
    )
    .option('--delete-file <path>', 'take a file out of the item', (value, before: string[] = []) => [
      ...before,
      value,
    ])
    .action((name: string, flags: EditFlags) => editItem(cli, name, flags));
  examples(
    edit,
    'edit code-review',
    'edit code-review --description "Use before every merge"',
    'edit code-review --instructions - < body.md',
    'edit code-review --file docs/check.md=check.md --delete-file old.md',
  );
}

async function editItem(cli: Cli, name: string, flags: EditFlags): Promise<void> {
  const { output } = cli;
  const { kind, url, tokenFile, json, confirm } = flags;
  const connection = { ...(url !== undefined && { url }), ...(tokenFile !== undefined && { tokenFile }) };
  const session = await openSession(cli, connection);
  const item = await findItem(session.registry, name, kind);
  if (item.state === 'removed') {
    throw new CommandFailed(
      `The ${item.kind} ${name} was removed; "repertoire restore ${name}" brings it back.`,
    );
  }
  const given = await flagChanges(cli, flags);
  const edited = given ? null : await inEditor(cli, session, item);
  const changes = given ?? (edited && { files: { [MAIN_FILE[item.kind]]: { text: edited.text } } });
  if (changes === null) return output.note('Nothing was changed.');
  try {
    const body = { expected_revision: item.revision, ...changes, ...(confirm && { confirm }) };
    const answer = await session.registry.edit(item, body);
    edited?.discard();
    if (json) return output.json(answer);
    const { revision } = answer.item;
    output.line(
      revision === item.revision
        ? `${item.kind} ${name}: already so, unchanged.`
        : `${item.kind} ${name}: edited, now revision ${revision}.`,
    );
    const known = new Set(item.flags.map(({ message }) => message));
    noteFlags(
      output,
      answer.item.flags.filter(({ message }) => !known.has(message)),
    );
  } catch (error) {
    if (!edited) throw error;
    const again = `repertoire edit ${name} --file ${MAIN_FILE[item.kind]}=${edited.path}`;
    throw new CommandFailed(
      `${sentence(error)}\nYour text is kept in ${edited.path}; to send it from there: ${again}`,
      { cause: error },
    );
  }
}

async function flagChanges(
  cli: Cli,
  { description, instructions, file = [], deleteFile = [] }: EditFlags,
): Promise<Changes | null> {
  const files = Object.fromEntries([
    ...file.map(([path, from]) => [path, readContent(cli, from)] as const),
    ...deleteFile.map((path) => [path, null] as const),
  ]);
  const changes: Changes = {
    ...(description !== undefined && { description }),
    ...(instructions !== undefined && { instructions: await readInput(cli, instructions) }),
    ...(Object.keys(files).length > 0 && { files }),
  };
  return Object.keys(changes).length > 0 ? changes : null;
}

function readContent({ environment, paths }: Cli, file: string): FileContent {
  const full = resolve(environment.cwd, file);
  const bytes = readFileSync(full);
  const text = decodeText(bytes);
  const executable = paths.executableBit ? { executable: (statSync(full).mode & 0o100) !== 0 } : {};
  return text === null ? { base64: bytes.toString('base64'), ...executable } : { text, ...executable };
}

interface Edited {
  text: string;
  /** Where the text stays until the registry has taken it. */
  path: string;
  discard(): void;
}

/** Opens the main file in the person's editor; null when they left it as it was. */
async function inEditor(cli: Cli, { registry }: Session, item: Item): Promise<Edited | null> {
  const { environment, state } = cli;
  const main = MAIN_FILE[item.kind];
  const { VISUAL, EDITOR } = environment.env;
  if (!VISUAL && !EDITOR && !environment.stdin.isTTY) {
    throw new WrongUsage(
      'There is no terminal to edit in here: say what to change with --description, --instructions or --file.',
    );
  }
  const entry = item.files.find(({ path }) => path === main);
  const before = entry && decodeText(await registry.blob(entry.digest));
  if (before === null || before === undefined) throw new CommandFailed(`${main} of ${item.name} is no text.`);
  const edits = join(state.folder, 'edits');
  mkdirSync(edits, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(edits, `${item.name}-`));
  const path = join(folder, main);
  const discard = () => rmSync(folder, { recursive: true, force: true });
  writeFileSync(path, before, { mode: 0o600 });
  await runEditor(cli, path);
  const text = decodeText(readFileSync(path));
  if (text === before) {
    discard();
    return null;
  }
  if (text === null)
    throw new CommandFailed(`${path} is no UTF-8 text any more, so it was not sent; it is kept there.`);
  return { text, path, discard };
}

/** VISUAL and EDITOR may hold arguments, so that a shell reads them. */
async function runEditor({ environment: { env, platform } }: Cli, path: string): Promise<void> {
  const editor = env.VISUAL || env.EDITOR || (platform === 'win32' ? 'notepad' : 'vi');
  const child =
    platform === 'win32'
      ? spawn(`${editor} "${path}"`, { stdio: 'inherit', shell: true, env })
      : spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit', env });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code === 0) return;
  throw new CommandFailed(
    `The editor (${editor}) ended with ${signal ?? `code ${code}`}, so nothing was sent; what it left is in ${path}.`,
  );
}

function parseFile(value: string): [string, string] {
  const at = value.indexOf('=');
  if (at < 1 || at === value.length - 1)
    throw new InvalidArgumentError('It is PATH=FILE, the path in the item first.');
  return [value.slice(0, at), value.slice(at + 1)];
}
