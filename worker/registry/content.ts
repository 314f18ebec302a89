import { compareBytes, itemDigest, sha256 } from '../../schema/digest.ts';
import { RegistryError } from '../../schema/errors.ts';
import { decodeText } from '../../schema/frontmatter.ts';
import { inspectItem } from '../../schema/inspect.ts';
import {
  type FileChanges,
  type FileEntry,
  type Flag,
  type Kind,
  LIMITS,
  MAIN_FILE,
} from '../../schema/item.ts';
import { checkPath, checkPaths } from '../../schema/path.ts';

/** Every file of an item removed, and as many added. */
const MOST_CHANGES = 2 * LIMITS.itemFiles;

/** The files of a revision that is to be written, checked, with the bytes that the registry may not have yet. */
export interface Content {
  readonly kind: Kind;
  readonly name: string;
  readonly description: string;
  readonly flags: Flag[];
  /** As the Skills extension serves it; null when it cannot represent the item. */
  readonly frontMatter: Record<string, unknown> | null;
  readonly files: FileEntry[];
  readonly digest: string;
  /** Bytes by digest of every file that changed. */
  readonly bytes: ReadonlyMap<string, Uint8Array>;
  /** Changed files that are text, by path: what is scanned for credentials and indexed. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Fetches stored bytes by digest; a digest that is not stored is absent from the answer. */
export type LoadBlobs = (digests: readonly string[]) => Promise<ReadonlyMap<string, Uint8Array>>;

interface Draft {
  readonly kind: Kind;
  /** Files of the revision that this one follows. */
  readonly parent: readonly FileEntry[];
  readonly changes: FileChanges;
  /** Name for an item whose front matter has no valid one. */
  readonly fallbackName: string | undefined;
  readonly load: LoadBlobs;
}

/**
 * Applies changes to the parent's files and checks the result by every rule on names, paths, sizes and front matter.
 * @throws RegistryError `invalid_path`, `path_collision`, `too_large`, `invalid_front_matter`, `invalid_name`, `invalid_input`
 */
export async function prepareContent(draft: Draft): Promise<Content> {
  const main = MAIN_FILE[draft.kind];
  const changes = canonicalMainFile(draft.changes, draft.parent, main);
  const written = await readBytes(changes.files, draft.load);
  const files = await mergeFiles(draft.parent, changes.files, written);
  checkPaths(files.map((file) => file.path));
  checkSizes(files);

  const mainEntry = files.find((file) => file.path === main);
  if (!mainEntry) {
    throw new RegistryError(
      'invalid_input',
      `A ${draft.kind} needs a ${main}, and the files given have none; add it.`,
      { path: main },
    );
  }
  const mainBytes = written.get(main) ?? (await draft.load([mainEntry.digest])).get(mainEntry.digest);
  const mainText = mainBytes && decodeText(mainBytes);
  if (mainText === undefined || mainText === null) {
    throw new RegistryError(
      'invalid_input',
      `${main} must be UTF-8 text without NUL bytes; save it as UTF-8 and try again.`,
      { path: main },
    );
  }
  const inspected = inspectItem({
    kind: draft.kind,
    mainText,
    fallbackName: draft.fallbackName,
    fileCount: files.length,
  });
  const texts = new Map<string, string>();
  const bytes = new Map<string, Uint8Array>();
  const digests = new Map(files.map((file) => [file.path, file.digest]));
  for (const [path, content] of written) {
    const digest = digests.get(path);
    if (digest !== undefined) bytes.set(digest, content);
    const text = decodeText(content);
    if (text !== null) texts.set(path, text);
  }
  return {
    kind: draft.kind,
    name: inspected.name,
    description: inspected.description,
    flags:
      changes.renamedFrom === null
        ? inspected.flags
        : [...inspected.flags, caseFlag(changes.renamedFrom, main)],
    frontMatter: inspected.flags.some(({ code }) => code === 'not-in-skills-extension')
      ? null
      : inspected.frontMatter,
    files,
    digest: await itemDigest(files),
    bytes,
    texts,
  };
}

function caseFlag(found: string, main: string): Flag {
  return {
    code: 'main-file-case',
    message: `The file was called ${found}; clients read ${main} only, so it is kept under that name.`,
    clients: [],
  };
}

/** No client reads `skill.md`: a main file in another case is taken under its proper name. */
function canonicalMainFile(
  changes: FileChanges,
  parent: readonly FileEntry[],
  main: string,
): { files: FileChanges; renamedFrom: string | null } {
  if (main in changes || parent.some((file) => file.path === main))
    return { files: changes, renamedFrom: null };
  const found = Object.keys(changes).filter((path) => path.toLowerCase() === main.toLowerCase());
  const [name] = found;
  if (found.length !== 1 || name === undefined) return { files: changes, renamedFrom: null };
  const { [name]: content, ...rest } = changes;
  return { files: { [main]: content ?? null, ...rest }, renamedFrom: name };
}

async function readBytes(changes: FileChanges, load: LoadBlobs): Promise<Map<string, Uint8Array>> {
  const count = Object.keys(changes).length;
  if (count > MOST_CHANGES) {
    throw new RegistryError(
      'too_large',
      `The change names ${count} files, and an item may have ${LIMITS.itemFiles}; leave some out.`,
    );
  }
  const named = Object.values(changes).flatMap((content) =>
    content && 'digest' in content ? [content.digest] : [],
  );
  const stored = named.length > 0 ? await load(named) : new Map<string, Uint8Array>();
  const written = new Map<string, Uint8Array>();
  for (const [path, content] of Object.entries(changes)) {
    checkPath(path);
    if (content === null) continue;
    if ('text' in content) {
      if (!content.text.isWellFormed()) {
        throw new RegistryError(
          'invalid_input',
          `The text of ${path} holds half of a surrogate pair; send valid Unicode.`,
          { path },
        );
      }
      written.set(path, new TextEncoder().encode(content.text));
    } else if ('base64' in content) {
      written.set(
        path,
        Uint8Array.from(atob(content.base64), (char) => char.charCodeAt(0)),
      );
    } else {
      const bytes = stored.get(content.digest);
      if (!bytes) {
        throw new RegistryError(
          'invalid_input',
          `The content of ${path} (${content.digest}) is not stored yet; send it with PUT /api/v1/blobs/${content.digest} first.`,
          { path },
        );
      }
      written.set(path, bytes);
    }
  }
  return written;
}

async function mergeFiles(
  parent: readonly FileEntry[],
  changes: FileChanges,
  written: ReadonlyMap<string, Uint8Array>,
): Promise<FileEntry[]> {
  const merged = new Map(parent.map((file) => [file.path, file]));
  for (const [path, content] of Object.entries(changes)) {
    if (content === null) {
      if (!merged.delete(path)) {
        throw new RegistryError('not_found', `There is no file ${path} to remove; leave it out.`, { path });
      }
      continue;
    }
    const bytes = written.get(path) as Uint8Array;
    const digest = await sha256(bytes);
    if ('digest' in content && content.digest !== digest)
      throw new RegistryError('internal', `The stored bytes of ${path} do not match their digest.`);
    merged.set(path, {
      path,
      digest,
      size: bytes.length,
      executable: content.executable ?? merged.get(path)?.executable ?? false,
    });
  }
  return [...merged.values()].sort((a, b) => compareBytes(a.path, b.path));
}

function checkSizes(files: readonly FileEntry[]): void {
  if (files.length > LIMITS.itemFiles) {
    throw new RegistryError(
      'too_large',
      `The item has ${files.length} files, and ${LIMITS.itemFiles} is the most; leave some out.`,
    );
  }
  for (const file of files) {
    if (file.size > LIMITS.fileBytes) {
      throw new RegistryError(
        'too_large',
        `${file.path} has ${file.size} bytes, and a file may have ${LIMITS.fileBytes} (1 MiB); make it smaller.`,
        { path: file.path },
      );
    }
  }
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > LIMITS.itemBytes) {
    throw new RegistryError(
      'too_large',
      `The item has ${total} bytes in all, and ${LIMITS.itemBytes} (8 MiB) is the most; leave some files out.`,
    );
  }
}
