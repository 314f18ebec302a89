import type { Confirmation } from '../../../schema/api.ts';
import { decodeText } from '../../../schema/frontmatter.ts';
import type { FileChanges, FileContent, Item, ItemSummary } from '../../../schema/item.ts';
import type { Registry } from '../../registry.ts';
import { CommandFailed } from '../failure.ts';
import type { ReadFile, ReadItem } from './read.ts';

export interface SendOptions {
  /** Whether an item that is there and differs is edited. */
  update?: boolean;
  confirm?: Confirmation[] | undefined;
  /** False where the file system has no executable bit: modes are inherited, and not compared. */
  executableBit: boolean;
}

export interface Sent {
  outcome: 'added' | 'updated' | 'unchanged';
  item: ItemSummary;
}

/** JSON of about so many bytes goes in one request; what is larger goes blob by blob. The door takes 3 MiB. */
const BODY_BYTES = 2.5 * 1024 * 1024;

/**
 * Brings an item into the registry. `existing` is the registry's item of the same kind and name, if any.
 * @throws CommandFailed when it differs and may not be updated; RegistryError as the registry refuses
 */
export async function sendItem(
  registry: Registry,
  item: ReadItem,
  existing: ItemSummary | undefined,
  options: SendOptions,
): Promise<Sent> {
  const { kind, name } = item;
  const confirm = options.confirm && { confirm: options.confirm };
  if (!existing || existing.state === 'removed') {
    const files = await contents(registry, item.files, options);
    const answer = await registry.create({ kind, fallback_name: item.fallbackName, files, ...confirm });
    return { outcome: 'added', item: answer.item };
  }
  if (existing.digest === item.digest) return { outcome: 'unchanged', item: existing };
  const current = await registry.item({ kind, name });
  const changed = item.files.filter((file) => differs(file, current, options));
  const gone = current.files.filter(({ path }) => !item.files.some((file) => file.path === path));
  if (changed.length + gone.length === 0) return { outcome: 'unchanged', item: current };
  if (!options.update) {
    const paths = [...changed, ...gone].map(({ path }) => path);
    const named = paths.length > 3 ? `${paths.length} files` : paths.join(', ');
    throw new CommandFailed(
      `there is a ${kind} ${name} already, and it differs in ${named}; --update makes this its next revision.`,
    );
  }
  const files = {
    ...(await contents(registry, changed, options)),
    ...Object.fromEntries(gone.map(({ path }) => [path, null])),
  };
  const answer = await registry.edit(current, { expected_revision: current.revision, files, ...confirm });
  return { outcome: 'updated', item: answer.item };
}

function differs(file: ReadFile, { files }: Item, { executableBit }: SendOptions): boolean {
  const other = files.find(({ path }) => path === file.path);
  return other?.digest !== file.digest || (executableBit && other.executable !== file.executable);
}

async function contents(
  registry: Registry,
  files: readonly ReadFile[],
  { executableBit }: SendOptions,
): Promise<FileChanges> {
  const changes = Object.fromEntries(
    files.map((file) => [
      file.path,
      { ...content(file), ...(executableBit && { executable: file.executable }) },
    ]),
  );
  if (Buffer.byteLength(JSON.stringify(changes)) <= BODY_BYTES) return changes;
  for (const { digest, bytes } of files) await registry.putBlob(digest, bytes);
  return Object.fromEntries(
    files.map(({ path, digest, executable }) => [path, { digest, ...(executableBit && { executable }) }]),
  );
}

function content({ bytes }: ReadFile): FileContent {
  const text = decodeText(bytes);
  return text === null ? { base64: bytes.toString('base64') } : { text };
}
